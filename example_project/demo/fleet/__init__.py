"""Three workers that crawl the demo web together: ``python -m demo.fleet``."""

"""The spiders of the demo project."""

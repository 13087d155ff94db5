"""A crawl over many workers: one queue in Redis, leases, one pace, nothing lost."""

from importlib import import_module

from scrapy_rep.protocol.errors import ConfigurationError

try:
    for _name in ("redis", "msgpack", "scrapy_redis.scheduler"):
        import_module(_name)
except ImportError as error:
    raise ConfigurationError(
        f"RepRedisScheduler needs a package that is not there ({error}): "
        'pip install "scrapy-rep[redis]"'
    ) from None

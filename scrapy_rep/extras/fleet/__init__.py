"""A crawl with many workers (a fleet) that share one queue in Redis and keep one pace."""

from importlib import import_module

from scrapy_rep.protocol.errors import ConfigurationError

try:
    for _name in ("redis", "msgpack", "scrapy_redis.scheduler"):
        import_module(_name)
except ImportError as error:
    raise ConfigurationError(
        f"RepRedisScheduler and REP_REDIS_URL need a package that is not installed ({error}): "
        'pip install "scrapy-rep[redis]"'
    ) from None

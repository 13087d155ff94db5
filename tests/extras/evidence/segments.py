"""Small files of trails and archives, so that tests need not fill large ones."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from scrapy_rep.extras.evidence import archive, trail


class SmallSegments:
    """An add-on for crawls in processes of their own: files of `SEGMENT_OCTETS`."""

    def update_settings(self, settings: BaseSettings) -> None:
        trail.SEGMENT_OCTETS = archive.SEGMENT_OCTETS = settings.getint("SEGMENT_OCTETS")

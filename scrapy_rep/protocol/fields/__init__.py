"""The sources of statements, and remarks on unusual ones."""

from .remarks import Remark, Source

__all__ = ["Remark", "Source"]

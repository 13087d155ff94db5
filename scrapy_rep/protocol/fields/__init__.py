"""Fields of HTTP: Structured Fields (RFC 9651), Link (RFC 8288), and the sources of statements."""

from .remarks import Remark, Source

__all__ = ["Remark", "Source"]

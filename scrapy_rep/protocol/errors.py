"""What the protocol core raises: only ever at its caller, never because of a site."""

from __future__ import annotations


class RepError(Exception):
    """Base of every error of this package that is not a dropped request."""


class ConfigurationError(RepError, ValueError):
    """A setting or an argument is wrong; the message says how to fix it."""


class InvalidProductToken(ConfigurationError):  # noqa: N818
    """A product token of the caller's that could never name a crawler (RFC 9309, 2.2.1)."""


class InvalidUri(RepError, ValueError):  # noqa: N818
    """A URI of a judged scheme in which no host or port can be read."""

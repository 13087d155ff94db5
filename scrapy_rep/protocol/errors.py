"""Errors of the protocol core, raised only for mistakes of its caller, never because of a site."""

from __future__ import annotations


class RepError(Exception):
    """Base of every error of this package that is not a dropped request."""


class ConfigurationError(RepError, ValueError):
    """A setting or an argument is wrong; the message says how to fix it."""


class InvalidProductToken(ConfigurationError):  # noqa: N818
    """A product token from the caller that can't name a crawler (RFC 9309, 2.2.1)."""


class InvalidUri(RepError, ValueError):  # noqa: N818
    """A URI without a readable host or port, with a scheme that robots.txt governs."""

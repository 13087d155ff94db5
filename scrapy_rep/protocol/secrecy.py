"""Secrets in header fields and URIs, which no store, trail, archive or log keeps."""

from __future__ import annotations

import re

OWNER_ONLY = 0o600
"""The mode of files with URLs, octets of sites or records: these may be private."""

# Authorization, Proxy-Authorization, Cookie, Set-Cookie, and names of products such as X-Api-Key,
# X-Auth-Token, X-Amz-Security-Token, Ocp-Apim-Subscription-Key, X-Jwt-Assertion, ...
# Keys of caches are not secret.
_SECRET = re.compile(
    r"auth(?!enticate\Z|ority\Z|or\Z)|cookie|token|secret|apikey|passw|passphrase|pwd|session|credential|jwt"
    r"|bearer|signature|(?<![a-z])(?<!cache-)(?<!surrogate-)key(?![a-z])",
    re.IGNORECASE,
)
# Up to the last @, because a password may contain one.
_USERINFO_OF_URI = re.compile(r"^([^/?#]*//)[^/?#]*@")
_USERINFO = re.compile(r"//[^/?#\s\"<>]*@", re.ASCII)
PATH_VALUE = re.compile(r"(;[^/;=]*=)([^/;]+)")
"""A parameter of a path, such as ``;jsessionid=0A1B``: its name, and its value."""

_QUERY_PART = re.compile(r"([^&;=#]*=)?[^&;#]+")


def is_secret(name: str) -> bool:
    """Whether the value of a header field of this name may be secret."""
    return _SECRET.search(name) is not None


def without_userinfo(text: str) -> str:
    """A text without the userinfo of the URIs in it."""
    return _USERINFO.sub("//", text) if "@" in text else text


def bare(uri: str) -> str:
    """A URI without its fragment and without userinfo."""
    if "#" in uri:
        uri = uri.partition("#")[0]
    return _USERINFO_OF_URI.sub(r"\1", uri) if "@" in uri else uri


def masked(uri: str) -> str:
    """A URI without the values in its query and in parameters of its path; the names stay."""
    head, mark, query = uri.partition("?")
    query = _QUERY_PART.sub(lambda part: f"{part[1] or ''}…", query)
    return PATH_VALUE.sub(r"\1…", head) + mark + query

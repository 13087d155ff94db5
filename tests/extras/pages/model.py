"""Page rules and usage once more, slowly and from the text, for the fast code to agree with.

Shares no code with the package. Reads the spelling of parts A and C of docs/pages.md, without
slips: tests generate nothing else for it. Paths are literal, without escapes.
"""

from __future__ import annotations

from typing import Any

FLAGS = [
    *["noindex", "nofollow", "nosnippet", "noarchive", "nocache", "noimageindex", "notranslate"],
    *["indexifembedded", "noai", "noimageai", "noml", "notrain", "disallowaitraining"],
]
PERMISSIVE = ["all", "index", "follow", "archive", "snippet", "noodp", "noydir", "cache"]
SIZES = ["none", "standard", "large"]

Rules = dict[str, Any]


def line_rules(line: str, tokens: list[str]) -> list[tuple[str, Any]]:
    """The rules of one line of X-Robots-Tag for a crawler, in order."""
    ours = True
    said: list[tuple[str, Any]] = []
    for raw in line.split(","):
        words = raw.strip().lower()
        head, colon, rest = words.partition(":")
        head, rest = head.strip(), rest.strip()
        if colon and head not in ("max-snippet", "max-video-preview", "max-image-preview"):
            names = ["robots", "*", "x-robots-tag", "", *[token.lower() for token in tokens]]
            is_name = head in names or rest == "" or bool(one_rule(rest)) or rest in PERMISSIVE
            if not is_name:
                continue
            ours = head in names
            words = rest
        if ours:
            said += one_rule(words)
    return said


def one_rule(words: str) -> list[tuple[str, Any]]:
    """The rules of a segment without a name."""
    name, _, value = (part.strip() for part in words.partition(":"))
    if words in FLAGS:
        return [(words, True)]
    if words == "none":
        return [("noindex", True), ("nofollow", True)]
    if name == "max-image-preview" and value in SIZES:
        return [(name, value)]
    if name in ("max-snippet", "max-video-preview") and (value == "-1" or value.isdigit()):
        extra = [("nosnippet", True)] if name == "max-snippet" and int(value) == 0 else []
        return [(name, int(value)), *extra]
    return []


def page(lines: list[str], tokens: list[str]) -> Rules:
    """All lines together: of values the most restrictive."""
    found: dict[str, list[Any]] = {}
    for line in lines:
        for name, value in line_rules(line, tokens):
            found.setdefault(name, []).append(value)
    return {name: strictest(name, values) for name, values in found.items()}


def strictest(name: str, values: list[Any]) -> Any:
    if name == "max-image-preview":
        return next(size for size in SIZES if size in values)
    if name in FLAGS:
        return True
    limits = [value for value in values if value != -1]
    return min(limits) if limits else -1


Record = tuple[str, str, dict[str, str]]
"""Key, path, and what it says by category, in the words of Content-Usage."""


def usage(records: list[Record], path: str) -> dict[str, str]:
    """The preferences of both kinds of records of a group for a path."""
    result: dict[str, str] = {}
    for kind in ("Content-Usage", "Content-Signal"):
        matching = [
            (len(p or "/"), said)
            for key, p, said in records
            if key == kind and path.startswith(p or "/")
        ]
        lengths = sorted({length for length, _ in matching}, reverse=True)
        for category in ("train-ai", "search", "ai-input"):
            for place, length in enumerate(lengths):
                values = [
                    said[category] for size, said in matching if size == length and category in said
                ]
                if not values:
                    continue
                value = "n" if "n" in values else "y"
                if place == 0 or value == "n":
                    result[category] = "n" if "n" in (value, result.get(category)) else "y"
                break
    return result

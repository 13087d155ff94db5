"""5: A body is whole only if its end was certain."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.access.endings import Ending, Extent, extent, extent_beside, is_range

FILE = b"User-agent: *\nAllow: /\n"


@pytest.mark.parametrize(
    ("ending", "of_a_file", "of_nothing"),
    [
        (Ending.FRAMED, Extent.WHOLE, Extent.WHOLE),
        (Ending.CLOSED, Extent.WHOLE, Extent.PART),
        (Ending.BROKEN, Extent.PART, Extent.PART),
        (Ending.UNKNOWN, Extent.DOUBTFUL, Extent.PART),
    ],
)
def test_ending_of_one_answer_tells_if_it_is_whole(
    ending: Ending, of_a_file: Extent, of_nothing: Extent
) -> None:
    assert extent(FILE, ending) is of_a_file
    assert extent(b"", ending) is of_nothing


@pytest.mark.parametrize(
    ("second", "ending", "expected"),
    [
        (FILE, Ending.UNKNOWN, Extent.WHOLE),
        (FILE[:-1], Ending.UNKNOWN, Extent.PART),
        (FILE + b"Disallow: /a\n", Ending.UNKNOWN, Extent.PART),
        (b"", Ending.UNKNOWN, Extent.PART),
        (b"another", Ending.FRAMED, Extent.WHOLE),
        (b"another", Ending.CLOSED, Extent.WHOLE),
        (FILE, Ending.BROKEN, Extent.PART),
        (b"", Ending.CLOSED, Extent.PART),
        (b"", Ending.FRAMED, Extent.WHOLE),
    ],
)
def test_equal_second_answer_makes_a_file_whole(
    second: bytes, ending: Ending, expected: Extent
) -> None:
    """Where the transport does not tell order from reset, two equal non-empty bodies are whole."""
    assert extent_beside(FILE, second, ending) is expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"content-type": "text/plain"}, False),
        ({"content-range": "bytes 0-39/40"}, False),
        ({"content-range": " BYTES\t0-39/40 "}, False),
        ({"content-range": "bytes 0-38/40"}, True),
        ({"content-range": "bytes 1-39/40"}, True),
        ({"content-range": "bytes 0-39/*"}, True),
        ({"content-range": "bytes 0-39/40, bytes 0-39/40"}, True),
        ({"content-range": ""}, True),
        ({"content-type": " Multipart/ByteRanges; boundary=x"}, True),
    ],
)
def test_a_range_is_a_part_unless_it_is_all(headers: dict[str, str], *, expected: bool) -> None:
    assert is_range(headers) is expected

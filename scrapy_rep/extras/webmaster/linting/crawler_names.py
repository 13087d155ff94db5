"""Look-ups in the table of known crawlers, for lint. Names are in lower case."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pkgutil import get_data
from string import ascii_lowercase

from scrapy_rep.extras.webmaster.agents import crawlers
from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS, Crawler, crawler_of


def is_one_slip(one: str, other: str) -> bool:
    """Whether two names differ by a letter that is missing, added, changed or swapped."""
    if abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    rest, other_rest = one[start:], other[start:]
    return (
        rest[1:] == other_rest[1:]
        or rest[1:] == other_rest
        or rest == other_rest[1:]
        or (rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:])
    )


KNOWN = crawlers.known_names()
"""Names of crawlers, in all their spellings."""

GOOGLE, GOOGLE_NEWS = "googlebot", "googlebot-news"
BIG_ENGINES = (GOOGLE, "bingbot")
"""The search engines that most visitors use."""

_NO_CRAWLER = "google-extended"  # it only says how Google may use what others fetch

_NOBODY = Crawler(*[""] * 8)
_SHORTEST = 5  # short names are similar to each other
_LONGEST = 60  # longer texts are not compared
_LONG = 9  # in a shorter name, another letter makes another name: wotbot is not dotbot
_WIDE = "".join(map(chr, range(0xFF41, 0xFF5B)))
LETTERS_ALIKE = {
    **str.maketrans(_WIDE, ascii_lowercase),
    **str.maketrans("авеԁһнісјкӏмопрԛѕтԝухαβεζηικμνορτυχı", "abedhhicjklmonpqstwyxabezhikmnoptyxi"),
    **str.maketrans("АВЕНІЈКМОРԚЅТԜСУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEHIJKMOPQSTWCYXABEZHIKMNOPTYX"),
}
"""The Latin letters that other letters look like, for `str.translate`."""
_DIGITS_ALIKE = {ord("0"): "o", ord("1"): "l"}
_NOT_SHAPE = re.compile(r"[^a-z0-9]+")
# Words that name no crawler, with the names that they stand for.
_WORDS = {
    word: tuple(names.split())
    for line in (get_data(__name__, "words.txt") or b"").decode().splitlines()
    for names, _, words in (line.partition(" | "),)
    for word in words.split()
}
_STEM_END = re.compile(r"-|(?:bot|spider|crawler)$")
_PURPOSES = ("search", "ai-training", "ai-search", "ai-user-fetch", "seo", "preview")
_MOST_MEANT = 3
_NOT_FOR_PAGES = ("-image", "-video", "-media", "images", "video", "media")


def _shape(text: str) -> str:
    """The letters and digits of a name, with look-alikes replaced."""
    return _NOT_SHAPE.sub("", text.translate(LETTERS_ALIKE).lower().translate(_DIGITS_ALIKE))


# Names that can be advised: no group finds a name with a blank.
_IN_USE = [
    one for one in CRAWLERS if not (one.is_obsolete or one.by == "memory" or " " in one.name)
]
_BY_SHAPE = {_shape(crawler.name): crawler for crawler in _IN_USE}
# Lists name hundreds of small crawlers, and miss others that are one letter away from these (spbot,
# psbot), or that have the name of the operator. So only names that operators document are proposed.
_DOCUMENTED = [one for one in _IN_USE if one.by == crawlers.OPERATOR]
_DOCUMENTED_NAMES = sorted(one.name for one in _DOCUMENTED)

# Operators of search engines and AI document all their names; others have more than they tell.
_CONTINUED = {one.name: one for one in _DOCUMENTED if one.purpose.startswith(("search", "ai-"))}


def nearly(name: str) -> str | None:
    """The known crawler with a similar name, or None.

    Similar is a name that differs by one typing mistake; or by blanks, signs, or letters that look
    alike: ``Claude Bot``, ``chatgpt_user``.
    """
    if name in KNOWN or not _SHORTEST <= len(name) <= _LONGEST:
        return None
    same = _BY_SHAPE.get(_shape(name))
    if same is not None:
        return same.name
    joined = name.replace(" ", "-")
    mistyped = (known for known in _DOCUMENTED_NAMES if _is_mistyped(joined, known))
    return next(mistyped, None) or _continued(joined)


def _continued(name: str) -> str | None:
    """The crawler for a known name that goes on: ``googlebot-extended``, ``bingbot-ai``.

    Its operator may use the ending with another name: Google-Extended.
    """
    stem, hyphen, ending = name.partition("-")
    crawler = _CONTINUED.get(stem)
    if crawler is None or not ending.isalpha():
        return None
    others = (one for one in _IN_USE if one.operator == crawler.operator)
    return next((one.name for one in others if one.name.endswith(hyphen + ending)), stem)


def near_tokens(*names: str) -> tuple[str, ...]:
    """The known crawler with a name that is similar to one of these, as its operator spells it."""
    near = next(filter(None, (nearly(name.lower()) for name in names)), "")
    crawler = crawler_of(near)
    return () if crawler is None else (crawler.token,)


def either(names: Sequence[str]) -> str:
    """Names in words: ``A, B or C``."""
    *others, last = names or ("",)
    return f"{', '.join(others)} or {last}" if others else last


def _is_mistyped(name: str, known: str) -> bool:
    if name[0] != known[0] or not is_one_slip(name, known):
        return False
    is_another_letter = len(name) == len(known) and sorted(name) != sorted(known)
    return not is_another_letter or len(known) >= _LONG


def _by_word() -> dict[str, list[Crawler]]:
    """The crawlers of each operator and product, by the shape of its name."""
    found: dict[str, list[Crawler]] = {}
    owned = [one for one in _DOCUMENTED if not one.operator.startswith("anyone")]
    for crawler in owned:
        stem = _STEM_END.split(crawler.name)[0]
        if stem not in KNOWN:
            found.setdefault(_shape(stem), []).append(crawler)
    for crawler in owned:
        operator = crawler.operator.partition(" (")[0]
        for word in {_shape(operator), _shape(operator.removesuffix(" AI"))}:
            known = found.setdefault(word, [])
            if crawler not in known:
                known.append(crawler)
    return found


_BY_WORD = _by_word()


def meant_by(text: str) -> tuple[str, ...]:
    """The names that a user-agent line probably means by a word that is not a crawler's name.

    The word is an operator (``OpenAI``), a product (``ChatGPT``), or stands for all (``any``).
    Empty if it is another word.
    """
    shape = _shape(text) if len(text) <= _LONGEST else ""
    if len(shape) < 2 or text.lower() in KNOWN:  # noqa: PLR2004 - a letter is no word
        return ()
    if shape in _WORDS:
        return _WORDS[shape]
    for word in (shape, shape.removesuffix("ai"), shape.removesuffix("bot")):
        if len(word) > 2 and word in _BY_WORD:  # noqa: PLR2004 - short words mean many things
            return tuple(_one_of_each_purpose(_BY_WORD[word]))
    return ()


def _one_of_each_purpose(found: Iterable[Crawler]) -> Iterator[str]:
    first: dict[str, Crawler] = {}
    for crawler in found:
        first.setdefault(crawler.purpose, crawler)
    wanted = [first[purpose] for purpose in _PURPOSES if purpose in first] or list(first.values())
    return (crawler.token for crawler in wanted[:_MOST_MEANT])


def _known(name: str) -> Crawler:
    """The crawler with a name; without facts if it is not known."""
    return crawler_of(name) or _NOBODY


def ignores_crawl_delay(name: str) -> str:
    """The source of the statement that a crawler ignores Crawl-delay, in words, or empty."""
    is_ignoring = _known(name).crawl_delay == crawlers.NO and name != _NO_CRAWLER
    return _known(name).whose_word("crawl_delay") if is_ignoring else ""


def may_not_obey(name: str) -> str:
    """The source of the statement that a crawler does not always obey, in words, or empty."""
    is_doubtful = _known(name).obeys in (crawlers.NO, crawlers.PARTLY)
    return _known(name).whose_word("obeys") if is_doubtful else ""


def obeys_partly(name: str) -> bool:
    """Whether a crawler obeys robots.txt only sometimes."""
    return _known(name).obeys == crawlers.PARTLY


def own_group_only(names: Collection[str]) -> list[Crawler]:
    """The crawlers that ignore the group for ``*``, except those in `names`."""
    found = (one for one in CRAWLERS if one.obeys == crawlers.OWN_GROUP_ONLY)
    in_use = (one for one in found if not (one.is_obsolete or one.is_policy))
    return [one for one in in_use if {one.name, one.fallback.lower()}.isdisjoint(names)]


def fallback_of(name: str) -> str:
    """The name of the group that a crawler takes before ``*``, or empty."""
    return _known(name).fallback.lower()


def is_search_crawler(name: str) -> bool:
    """Whether a known search engine has this name."""
    return _known(name).purpose == "search"


def reads_pages(name: str) -> bool:
    """Whether a known search engine with this name reads pages, not only pictures or news."""
    return shows_pages(name) and not name.endswith("news")


def shows_pages(name: str) -> bool:
    """Whether a known search engine shows pages or news that it finds by the group for this name.

    Googlebot-News is no crawler: Googlebot fetches the pages, by its own group or that for ``*``;
    the group for this name only decides what Google News shows.
    """
    return is_search_crawler(name) and not name.endswith(_NOT_FOR_PAGES)

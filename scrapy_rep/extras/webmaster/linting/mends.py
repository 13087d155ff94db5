"""The fix for each finding of a file, and whether it is safe.

A safe fix keeps every verdict, name, Sitemap line and comment, and every error: for an error, the
author meant something else than crawlers read, so only an unsafe fix changes its line. A fix is
about one place, but the rest of the file decides whether it is safe:

- A line with an error may be meant as another rule, or as the beginning of a group, unless its key
  is one of other records. So while a file has one, safe fixes only change spellings: nothing is
  added, removed or moved.
- After the last rule of a group, the next user-agent line begins another group. Without that rule
  the two groups become one, so an empty ``Disallow:`` replaces it. This also applies if all rules
  of a group have a finding: users follow all the advice.
- A user-agent line added at the end of the file would join a last group that has no rules.
- If a group has several records with the same name, the author may have intended several groups:
  then none of the records is moved.
- A Crawl-delay belongs to the user-agent lines directly above it: if a group has one, no record
  between its user-agent lines is removed.
- If the file is near the parse limit or beyond it, crawlers may read more or less of it afterwards.
  The same is true of a line at its limit.

Cost: linear in lines and findings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import count

from scrapy_rep.extras.webmaster.checks.codes import Code, Effect, Severity
from scrapy_rep.extras.webmaster.effect.other_readers import GOOGLE, PREFIXES, escaped
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.mending import Edit, EditPlace, Mend
from scrapy_rep.extras.webmaster.outline import (
    KEYS,
    Block,
    Line,
    Outline,
    has_other_words,
    name_of,
    with_value,
)
from scrapy_rep.protocol.extensions.pace import PACE_KEYS
from scrapy_rep.protocol.extensions.sitemaps import sitemap_line
from scrapy_rep.protocol.lines import (
    KNOWN_KEYS,
    LINE_LIMIT_OCTETS,
    PARSE_LIMIT_OCTETS,
    RULES,
    Kind,
    read_line,
)
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.verdict import shown

from .damage import Damage
from .line_checks import meant_key
from .rule_checks import NEEDLESS_ESCAPE, as_windows_1252, is_utf8

_SIGNAL_KEY = b"Content-Signal"

Rewrite = Callable[[Line], bytes | None]


def without(line: Line) -> bytes | None:
    """The comment of a line to be removed, which is kept; None without a comment."""
    comment = line.octets.partition(b"#")[2]
    return b"#" + comment if comment.strip() else None


def as_comment(line: Line) -> bytes:
    """A line as a comment."""
    return b"# " + line.octets.strip()


def _escaped(octets: bytes) -> bytes:
    return b"".join(b"%%%02X" % octet for octet in octets)


def _substitute(pattern: bytes, write: Callable[[bytes], bytes]) -> Rewrite:
    """Replace every match in the value of a line."""
    compiled = re.compile(pattern)

    def rewrite(line: Line) -> bytes:
        return with_value(line, compiled.sub(lambda match: write(match[0]), line.value))

    return rewrite


def _usual_key(line: Line) -> bytes:
    """The usual spelling of a key that crawlers read in another one."""
    return KEYS.get(line.kind or Kind.OTHER, _SIGNAL_KEY)


def _with_key(line: Line, key: bytes) -> bytes:
    return line.octets.replace(line.key, key, 1)


def _name_alone(line: Line) -> bytes | None:
    """Only the name in a user-agent line, without its version."""
    name = name_of(line.value)
    if not name or has_other_words(line.value):
        return None
    return with_value(line, b"*" if name == EVERYONE else line.value[: len(name.encode())])


def _as_utf8(line: Line) -> bytes | None:
    """Convert a comment from Windows-1252."""
    before, mark, comment = line.octets.partition(b"#")
    if not is_utf8(before):
        return None
    return before + mark + as_windows_1252(comment).encode("utf-8")


SPELLINGS: dict[Code, Rewrite] = {
    Code.MISSING_COLON: lambda line: _with_key(line, line.key + b":"),
    **dict.fromkeys(
        (Code.MISSPELT_KEY, Code.KEY_GOES_ON), lambda line: _with_key(line, _usual_key(line))
    ),
    Code.NOT_UTF8: _as_utf8,
    Code.USER_AGENT_VERSION: _name_alone,
    Code.USER_AGENT_WILDCARD: _name_alone,
    Code.SPACE_IN_PATH: _substitute(rb"\s", _escaped),
    Code.DOLLAR_NOT_LAST: _substitute(rb"\$(?=.)", _escaped),
    Code.NOT_ASCII: _substitute(rb"[\x80-\xff]+", _escaped),
    Code.NEEDLESS_ESCAPE: _substitute(NEEDLESS_ESCAPE, lambda escape: bytes([int(escape[1:], 16)])),
    Code.LOWER_CASE_ESCAPE: _substitute(rb"%[0-9A-Fa-f]{2}", bytes.upper),
    Code.CRAWL_DELAY_COMMA: lambda line: with_value(line, line.value.replace(b",", b".", 1)),
}
"""The new line for each code; it keeps our meaning, whatever the rest of the file is."""

REWRITES: dict[Code, Rewrite] = {
    **SPELLINGS,
    **dict.fromkeys((Code.UNKNOWN_KEY, Code.UNSUPPORTED_KEY), as_comment),
}


_PATH = re.compile(rb"/(?!\*?\$?\Z).*")  # one for everything is rarely meant
_BETWEEN_PATHS = re.compile(rb"(?:[\s,;]|(?<!\S)(?:and|or)(?!\S))+")
_BETWEEN_NAMES = re.compile(rb"(?:[\s,;]|(?<!\S)(?:and|or|[/|&+])(?!\S))+")
_LONE_PATH = re.compile(rb"\s*(?:[-*:]\s*)?[/*]\S+\s*")
_NAME = re.compile(rb"\*|[A-Za-z0-9][\w.+-]*(?:/[\w.]+)?")


def _in_lines(line: Line) -> tuple[bytes, ...]:
    """A record for each name or path, with the comment at the last; empty if one is neither."""
    between, form = (_BETWEEN_PATHS, _PATH) if line.kind in RULES else (_BETWEEN_NAMES, _NAME)
    values = [value for value in between.split(line.value) if value]
    if not values or not all(map(form.fullmatch, values)):
        return ()
    lines = [line.octets[: line.value_at] + value for value in values]
    return (*lines[:-1], with_value(line, values[-1]))


def _commented_out(line: Line) -> tuple[bytes, ...]:
    """The line as a comment; empty if it may be meant as a rule."""
    return () if _LONE_PATH.fullmatch(line.octets) else (as_comment(line),)


UNSAFE: dict[Code, Callable[[Line], tuple[bytes | None, ...]]] = {
    **dict.fromkeys((Code.NO_RECORD, Code.KEY_MISSING), _commented_out),
    Code.NEAR_KEY: lambda line: (_with_key(line, (meant_key(line.name) or "").encode()),),
    Code.LINE_TOO_LONG: lambda line: (line.octets[:LINE_LIMIT_OCTETS],),
    Code.USER_AGENT_LIST: _in_lines,
    Code.SEVERAL_PATHS: _in_lines,
    Code.SITEMAP_EMPTY: lambda line: (without(line),),
}
"""The lines that were probably meant, for each code of an error; empty if it is unclear."""
_TOLD = (Code.NEAR_KEY, Code.USER_AGENT_LIST, Code.SEVERAL_PATHS)  # with the new lines as advice


def _told(lines: tuple[bytes | None, ...]) -> str:
    some = [f"'{shown(line.strip()[:80])}'" for line in lines[:_SHOWN] if line is not None]
    return f"write {' and '.join(some)}{' and so on' * (len(lines) > _SHOWN)}"


_EMPTY = b"Disallow:"
_KEEP_ONE = (
    "write an empty 'Disallow:' instead: without any rule, the group would become one with the next"
)
_OWN_GROUPS = (
    "write an empty 'Disallow:' above the next user-agent line if each of these crawlers should "
    "have its own record; otherwise keep one of them, below the user-agent lines"
)
_AT_LIMIT = "; then crawlers may read more or less of the file, which is near the parse limit"
_NEAR_LIMIT_OCTETS = PARSE_LIMIT_OCTETS * 9 // 10
_AFTER_ALL = PARSE_LIMIT_OCTETS + 1  # no line has a larger number
_AGENT_LINE = "a user-agent line"
_CAUSES = {
    **dict.fromkeys((Code.NO_GROUPS, Code.RULE_BEFORE_GROUP), _AGENT_LINE),
    **dict.fromkeys((Code.GROUP_SWALLOWED, Code.GROUP_WITHOUT_RULES), "a rule"),
}
"""The meaning of a damaged line that is the reason for another finding."""
_NOT_OF_STAR = (
    "write the rules for these crawlers below it, since those for * are not for them, or an empty "
    "Disallow if they may fetch everything"
)
_MORE_LETTERS = 2  # after a known key: Allowed, Sitemaps; more of them make another word
_DOLLAR_AND_SIGNS = re.compile(rb"\$(?=[^\w/$]+\Z)")
_SHOWN = 4  # lines that were meant
_WHOLE_FILE = (Edit(EditPlace.FILE),)
_NO_LINE = Line(0, b"", None)

# Rules to remove. A rule with such a finding has no effect at its place.
_RULES_THAT_GO = (
    *(Code.DUPLICATE_RULE, Code.EMPTY_ALLOW, Code.EMPTY_BESIDE_RULES, Code.RULE_REDUNDANT),
)
_LINES_THAT_GO = (Code.USER_AGENT_REPEATED, Code.SITEMAP_DUPLICATE, Code.CRAWL_DELAY_DUPLICATE)
_SITEMAPS_ANEW = (
    *(Code.SITEMAP_RELATIVE, Code.SITEMAP_QUOTED, Code.SITEMAP_SEVERAL, Code.SITEMAP_NO_SCHEME),
)
# Findings with a fix that keeps our meaning, but may change that of other readers.
_OF_READERS = frozenset([Code.TRAILING_STAR, Code.REPEATED_STAR, *SPELLINGS])

# Findings with a safe fix that errors elsewhere in the file can't spoil.
_LOCAL = frozenset([Code.BOM, Code.CR_ONLY, *_SITEMAPS_ANEW, *SPELLINGS])


class Mender:
    """The findings of one file, with their lines and groups."""

    def __init__(
        self, outlined: Outline, found: list[Finding], damaged: Mapping[int, Damage]
    ) -> None:
        """Take the findings, and the damaged lines by number."""
        self._outlined = outlined
        self._damaged = damaged
        self._errors = {one.line for one in found if one.severity is Severity.ERROR} - {0}
        # The others can't be meant as a rule or as the beginning of a group.
        lines = (one for one in outlined.lines if one.kind is not Kind.SITEMAP)
        numbers = {line.number for line in lines if line.name not in KNOWN_KEYS}
        self._unclear = sorted(self._errors & {*numbers, *damaged})
        self._is_text = all(one.code is not Code.NOT_TEXT for one in found)
        self._is_utf16 = any(one.code is Code.UTF16 for one in found)
        is_large = len(outlined.octets) > _NEAR_LIMIT_OCTETS
        self._is_near_limit = is_large or outlined.is_cut
        self._found = found
        self._lines = {line.number: line for line in outlined.lines}
        self._kept: set[int] = set()  # empty Disallow lines that must stay
        self._emptied: set[int] = set()  # rules that an empty Disallow replaces
        self._keep_one_rule_in_each_group()

    def findings(self) -> Iterator[Finding]:
        """The findings with their fixes; findings about lines that must stay are dropped."""
        for finding in self._found:
            if finding.code is Code.EMPTY_BESIDE_RULES and finding.line in self._kept:
                continue
            is_rewritten = finding.code.effect is Effect.KEEPS or finding.code in _OF_READERS
            if is_rewritten and finding.proposal is None:
                yield replace(finding, proposal=self._mend(finding))
            elif unsafe := self._cause(finding) or self._unsafe(finding):
                yield replace(finding, proposal=self._within_the_file(unsafe))
            elif finding.proposal is not None:
                yield replace(finding, proposal=self._within_the_file(finding.proposal))
            else:
                yield finding

    def _mend(self, finding: Finding) -> Mend:
        """The fix for a finding that usually keeps verdicts; at this place it may change them."""
        mend = self._edits_of(finding)
        if not isinstance(mend, Mend):
            mend = Mend(finding.code.fix, Effect.KEEPS, mend)
        if mend.effect is Effect.KEEPS and (not mend.edits or self._is_spoiled(mend.edits)):
            mend = Mend(mend.text)
        elif changed := self._readers_of_changes(mend):
            text = f"{mend.text}; that changes the rule for crawlers that {changed}"
            mend = Mend(text, edits=mend.edits)
        if mend.edits and self._unclear and finding.code not in _LOCAL:
            text = f"{mend.text} (--fix does it once line {self._unclear[0]} is repaired)"
            return Mend(text)
        return self._within_the_file(mend)

    def _cause(self, finding: Finding) -> Mend | None:
        """The repair of the line that probably is the reason for a finding; None without one."""
        meant = _CAUSES.get(finding.code)
        if meant is None:
            return None
        lines = range(finding.line + 1, finding.other_line or _AFTER_ALL)
        if meant is _AGENT_LINE:
            lines = range(finding.line or _AFTER_ALL)
        cause = next((number for number in self._damaged_lines if number in lines), None)
        text = f"repair line {cause} first: it may be meant as {meant}"
        return None if cause is None else Mend(text)

    @cached_property
    def _damaged_lines(self) -> list[int]:
        near = {one.line for one in self._found if one.code is Code.NEAR_KEY}
        return sorted(near.union(self._damaged))

    def _unsafe(self, finding: Finding) -> Mend | None:
        """The lines that were probably meant, for an error; None if nothing can be proposed."""
        if finding.code is Code.UTF16:
            return Mend(finding.mend, edits=_WHOLE_FILE)
        line, damage = self._lines.get(finding.line), self._damaged.get(finding.line)
        if finding.code is Code.NUL:
            edit = Edit(EditPlace.AT, finding.line, line.octets if line else b"")
            return Mend(finding.mend, edits=(edit,))
        if finding.code is Code.RULE_BEFORE_GROUP:
            return self._in_group_for_all(finding)
        lines: tuple[bytes | None, ...] = ()
        if damage is not None and damage.finding.code is finding.code:
            lines = damage.meant
        elif line is not None and finding.code in UNSAFE:
            lines = UNSAFE[finding.code](line)
        if not lines:
            return None
        is_told = finding.proposal is None and (damage is not None or finding.code in _TOLD)
        first, *more = lines
        below = (Edit(EditPlace.BELOW, finding.line, one) for one in more)
        edits = Edit(EditPlace.AT, finding.line, first), *below
        return Mend(_told(lines) if is_told else finding.mend, edits=edits)

    def _is_spoiled(self, edits: tuple[Edit, ...]) -> bool:
        """Whether safe edits would not be safe at their place."""
        changed = {edit.line for edit in edits if edit.place is EditPlace.AT}
        contents = ((edit.octets or b"").partition(b"#")[0] for edit in edits)
        is_cut = any(len(content) > LINE_LIMIT_OCTETS for content in contents)
        return is_cut or not changed.isdisjoint(self._errors) or self._joins_runs(edits)

    def _readers_of_changes(self, mend: Mend) -> str:
        """Crawlers for which an otherwise safe fix changes a rule; empty without any."""
        for edit in mend.edits if mend.effect is Effect.KEEPS else ():
            old, new = self._lines.get(edit.line), read_line(edit.octets or b"")
            if old is None or edit.place is not EditPlace.AT or not (new and new[2]):
                continue
            before, after = escaped(old.value), escaped(new[2])
            if old.kind in RULES and before != after:
                is_of_stars = before.replace("*", "") == after.replace("*", "")
                return (PREFIXES if is_of_stars and old.kind is Kind.DISALLOW else GOOGLE).words
        return ""

    def _within_the_file(self, mend: Mend) -> Mend:
        """A fix, without edits if it may make crawlers read more or less of the file."""
        is_whole = any(edit.place is EditPlace.FILE for edit in mend.edits)
        may_open_rules = self._is_utf16 and not is_whole  # it would be written in UTF-8
        if mend.edits and (self._outlined.is_opaque or not self._is_text or may_open_rules):
            return Mend(mend.text)
        if mend.edits and self._is_near_limit:
            return Mend(mend.text + _AT_LIMIT)
        return mend

    def _joins_runs(self, edits: tuple[Edit, ...]) -> bool:
        """Whether a Crawl-delay would belong to more user-agent lines after the edits."""
        between = (one for one in edits if one.line in self._numbers_between)
        new = ((one.octets or b"#").lstrip() for one in between if one.place is EditPlace.AT)
        return any(octets[:1] in (b"#", b"") for octets in new)

    def _edits_of(self, finding: Finding) -> tuple[Edit, ...] | Mend:
        code, line = finding.code, self._lines.get(finding.line, _NO_LINE)
        if code in self._writers:
            return self._writers[code](finding, line)
        octets = REWRITES[code](line)
        is_kept = octets is None or _changes_what_is_compared(line, octets)
        return () if is_kept else _rewritten(line, octets)

    @cached_property
    def _writers(self) -> dict[Code, Callable[[Finding, Line], Mend | tuple[Edit, ...]]]:
        return {
            **dict.fromkeys((Code.BOM, Code.CR_ONLY), lambda *_: _WHOLE_FILE),
            Code.NO_STAR: self._group_for_all,
            Code.BLANK_LINE_INSIDE: self._without_blank_lines,
            **dict.fromkeys(_RULES_THAT_GO, self._without_rule),
            **dict.fromkeys(_LINES_THAT_GO, lambda _, line: _rewritten(line, without(line))),
            Code.RECORD_SPLITS_GROUP: self._below_agents,
            Code.ORDER_MATTERS: _above_shorter,
            **dict.fromkeys((Code.TRAILING_STAR, Code.REPEATED_STAR), _with_fewer_stars),
            **dict.fromkeys(_SITEMAPS_ANEW, self._absolute),
            Code.DOLLAR_NOT_LAST: _dollar,
            **dict.fromkeys((Code.MISSPELT_KEY, Code.KEY_GOES_ON), _with_usual_key),
            Code.GROUP_WITHOUT_RULES: self._empty_rule_below,
        }

    # Rules to remove.

    def _keep_one_rule_in_each_group(self) -> None:
        going = {one.line for one in self._found if one.code in _RULES_THAT_GO}
        empties = {one.line for one in self._found if one.code is Code.EMPTY_BESIDE_RULES}
        for block in self._outlined.blocks:
            numbers = [line.number for line in block.rules]
            if numbers and going.issuperset(numbers):
                own = [number for number in numbers if number in empties]
                self._kept.update(own[:1])
                self._emptied.update([] if own else numbers[:1])

    def _without_rule(self, _: Finding, line: Line) -> Mend | tuple[Edit, ...]:
        comment = without(line)
        if line.number in self._emptied:
            octets = _EMPTY if comment is None else _EMPTY + b" " + comment
            return Mend(_KEEP_ONE, Effect.KEEPS, _rewritten(line, octets))
        return _rewritten(line, comment)

    @cached_property
    def _block_of(self) -> dict[int, Block]:
        return {
            line.number: block
            for block in self._outlined.blocks
            for line in (*block.agents, *block.rules, *block.others)
        }

    @cached_property
    def _name_counts(self) -> Counter[tuple[int, bytes]]:
        """The number of other records with each name, by group."""
        blocks = self._outlined.blocks
        return Counter((id(block), line.name) for block in blocks for line in block.others)

    @cached_property
    def _numbers_between(self) -> set[int]:
        """The lines from the first to the last user-agent line of groups with a pace."""
        blocks = self._outlined.blocks
        paced = (b.agents for b in blocks if any(line.name in PACE_KEYS for line in b.others))
        return {n for agents in paced for n in range(agents[0].number, agents[-1].number + 1)}

    # Lines to move.

    def _without_blank_lines(self, finding: Finding, _: Line) -> tuple[Edit, ...]:
        """Delete the blank lines from the first one up to the group's last rule; comments stay."""
        numbers = (number for number in count(finding.line) if number in self._lines)
        rule = next(number for number in numbers if self._lines[number].kind in RULES)
        last = self._block_of[rule].rules[-1].number
        blank = (number for number in range(finding.line, last) if number not in self._lines)
        return tuple(Edit(EditPlace.AT, number) for number in blank)

    def _empty_rule_below(self, finding: Finding, line: Line) -> Mend | tuple[Edit, ...]:
        if mend := self._cause(finding):
            return mend
        stars = self._outlined.by_name.get(EVERYONE, ())
        if any(rule.value for rule in self._outlined.rules_of(stars)):
            return Mend(_NOT_OF_STAR)
        return (Edit(EditPlace.BELOW, line.number, _EMPTY),)

    def _group_for_all(self, *_: object) -> tuple[Edit, ...]:
        texts = [b"", b"User-agent: *", _EMPTY]
        if not self._outlined.blocks[-1].rules:
            texts.insert(0, _EMPTY)
        return tuple(Edit(EditPlace.END, 0, text) for text in texts)

    def _in_group_for_all(self, finding: Finding) -> Mend:
        first = next(one.line for one in self._found if one.code is finding.code)
        text = f"write 'User-agent: *' above line {first} if the rules are for all crawlers"
        above = Edit(EditPlace.ABOVE, first, b"User-agent: *")
        return Mend(text, edits=(above,) if finding.line == first else ())

    def _below_agents(self, _: Finding, line: Line) -> Mend | tuple[Edit, ...]:
        block = self._block_of[line.number]
        if self._name_counts[id(block), line.name] > 1 or line.number in self._numbers_between:
            return Mend(_OWN_GROUPS)
        last = block.agents[-1]
        return Edit(EditPlace.AT, line.number), Edit(EditPlace.BELOW, last.number, line.octets)

    # Other records.

    def _absolute(self, finding: Finding, line: Line) -> Mend:
        uris = sitemap_line(line.value, self._outlined.uri).uris
        if not uris or not all(uri.isprintable() and "#" not in uri for uri in uris):
            return Mend(finding.code.fix, Effect.OUTSIDE)
        first, *more = (with_value(line, uri.encode()) for uri in uris)
        bare = (octets.partition(b"#")[0].rstrip() for octets in more)
        below = (Edit(EditPlace.BELOW, line.number, octets) for octets in bare)
        edits = Edit(EditPlace.AT, line.number, first), *below
        return Mend(f"write {' and '.join(uris[:_SHOWN])}", Effect.KEEPS, edits)


def _changes_what_is_compared(line: Line, octets: bytes) -> bool:
    """Whether the value changes of a rule that is also compared as written."""
    read = read_line(octets) if line.is_written else None
    return read is not None and read[2] != line.value


def _dollar(_: Finding, line: Line) -> Mend | tuple[Edit, ...]:
    """``$`` in front of other signs probably means the end: ``/*.pdf$*``."""
    found = _DOLLAR_AND_SIGNS.search(line.value)
    if found is None:
        return _rewritten(line, SPELLINGS[Code.DOLLAR_NOT_LAST](line))
    value = line.value[: found.start() + 1]
    text = f"write {shown(value)} if the end of the path is meant; otherwise %24"
    return Mend(text, edits=_rewritten(line, with_value(line, value)))


def _with_usual_key(finding: Finding, line: Line) -> Mend | tuple[Edit, ...]:
    key = _usual_key(line)
    is_another = finding.code is Code.KEY_GOES_ON and len(line.key) > len(key) + _MORE_LETTERS
    if is_another:
        return Mend(finding.code.fix)
    return Mend(f"write {key.decode()}", Effect.KEEPS, _rewritten(line, _with_key(line, key)))


def _above_shorter(finding: Finding, line: Line) -> tuple[Edit, ...]:
    return Edit(EditPlace.AT, line.number), Edit(EditPlace.ABOVE, finding.other_line, line.octets)


def _with_fewer_stars(finding: Finding, line: Line) -> tuple[Edit, ...]:
    is_final = finding.code is Code.TRAILING_STAR
    without_last = _with_its_end(_FINAL_STARS(b"", line.value))
    value = without_last if is_final else _STARS(b"*", line.value)
    return _rewritten(line, with_value(line, value))


def _rewritten(line: Line, octets: bytes | None) -> tuple[Edit, ...]:
    """The edit that replaces a line, or deletes it."""
    return (Edit(EditPlace.AT, line.number, octets),)


def _with_its_end(value: bytes) -> bytes:
    """Escape trailing blanks, which would be stripped, and a ``$``, which would mean the end."""
    if value.endswith(b"$"):
        return value[:-1] + b"%24"
    kept = value.rstrip()
    return kept + b"".join(b"%%%02X" % octet for octet in value[len(kept) :])


_FINAL_STARS = re.compile(rb"(?<!\*)\*+$").sub
_STARS = re.compile(rb"\*\*+").sub

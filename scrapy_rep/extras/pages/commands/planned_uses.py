"""The uses of content in ``scrapy rep plan``: the preferences of a site, and their effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from scrapy_rep.extras.pages.readings import usage_of
from scrapy_rep.extras.pages.usage.categories import CATEGORIES
from scrapy_rep.extras.pages.usage.preference import Preference
from scrapy_rep.policy import Policy
from scrapy_rep.settings import RepSettings

_LICENCES = 5


def use_facts(policy: Policy, url: str, ours: RepSettings) -> dict[str, Any]:
    """The preferences of a site for a URL, without those of its pages."""
    usage = usage_of(
        Response(url), policy, product_tokens=policy.tokens, usage_tokens=ours.usage_tokens
    )
    said = {one: usage.preference(one) for one in CATEGORIES}
    bad = (Preference.DISALLOWED, *[Preference.UNKNOWN] * (ours.uses_unknown == "drop"))
    level, wanted = usage.use_level, ours.use_level
    is_less = level is not None and wanted != "" and not level.covers(wanted)
    return {
        "preferences": usage.to_dict(),
        "by": {one: [str(by) for by in usage.decided_by(one)] for one in CATEGORIES},
        "dropped_by": [one for one, preference in said.items() if preference in bad],
        "project_drops": [one for one in ours.uses if said[one] in bad] + ["use"] * is_less,
        "use": usage.use,
        "licences": [one.uri for one in usage.licences],
        "tdm_policy": usage.tdm_policy,
        "is_complete": usage.is_complete,
        "reads_tdmrep": ours.tdmrep,
    }


def use_lines(uses: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The lines on the screen: a name, words, and a colour."""
    said = ", ".join(f"{name} {value}" for name, value in uses["preferences"].items())
    use = f", use {uses['use']}" if uses["use"] else ""
    unread = "" if uses["reads_tdmrep"] else "; tdmrep.json is not read (REP_TDMREP)"
    yield "uses", f"{said}{use}; pages may say more{unread}", ""
    for name in uses["dropped_by"]:
        by = (*uses["by"][name], "no statement")[0]
        is_own = name in uses["project_drops"]
        lead = f"REP_USES {'has' if is_own else 'with'} {name}"
        yield "", f"{lead}: items are dropped ({by})", "red" if is_own else ""
    if "use" in uses["project_drops"]:
        yield "", "less than REP_USE_LEVEL: items are dropped", "red"
    for uri in uses["licences"][:_LICENCES]:
        yield "licence", uri, ""
    if uses["tdm_policy"]:
        yield "", f"policy of the reservation: {uses['tdm_policy']}", ""

"""What is known of crawlers by name: facts that their operators document. Lower case."""

from __future__ import annotations

from .slips import is_one_slip

KNOWN = frozenset(
    [
        "adsbot-google",
        "adsbot-google-mobile",
        "ahrefsbot",
        "amazonbot",
        "anthropic-ai",
        "apis-google",
        "applebot",
        "applebot-extended",
        "archive.org_bot",
        "baiduspider",
        "bingbot",
        "bingpreview",
        "blexbot",
        "bytespider",
        "ccbot",
        "chatgpt-user",
        "claude-searchbot",
        "claude-user",
        "claudebot",
        "cohere-ai",
        "dataforseobot",
        "diffbot",
        "discordbot",
        "dotbot",
        "duckassistbot",
        "duckduckbot",
        "exabot",
        "facebookbot",
        "facebookexternalhit",
        "feedfetcher-google",
        "google-cloudvertexbot",
        "google-extended",
        "google-inspectiontool",
        "googlebot",
        "googlebot-image",
        "googlebot-news",
        "googlebot-video",
        "googleother",
        "gptbot",
        "ia_archiver",
        "img2dataset",
        "linkedinbot",
        "mail.ru_bot",
        "mediapartners-google",
        "meta-externalagent",
        "meta-externalfetcher",
        "mj12bot",
        "mojeekbot",
        "msnbot",
        "naverbot",
        "neevabot",
        "nutch",
        "oai-searchbot",
        "omgili",
        "omgilibot",
        "perplexity-user",
        "perplexitybot",
        "petalbot",
        "pinterestbot",
        "proximic",
        "qwantify",
        "rogerbot",
        "scrapy",
        "screaming-frog",
        "semrushbot",
        "semrushbot-sa",
        "seznambot",
        "slackbot",
        "slurp",
        "sogou",
        "swiftbot",
        "telegrambot",
        "teoma",
        "timpibot",
        "turnitinbot",
        "twitterbot",
        "uptimerobot",
        "wget",
        "yandex",
        "yandexbot",
        "yandeximages",
        "yeti",
        "youbot",
    ]
)
"""Crawlers that files often name; a name that is nearly one of these is probably meant for it."""

IGNORES_CRAWL_DELAY = frozenset(
    [
        "googlebot",
        "googlebot-image",
        "googlebot-news",
        "googlebot-video",
        "adsbot-google",
        "mediapartners-google",
        "googleother",
        "yandex",
        "yandexbot",
    ]
)
"""Google: "other fields such as crawl-delay aren't supported". Yandex: set in its own tools."""

OWN_TOKEN_ONLY = ("adsbot-google",)
"""Google documents that its AdsBots ignore the group for ``*``."""

UNENFORCEABLE = frozenset(
    [
        "chatgpt-user",
        "perplexity-user",
        "meta-externalfetcher",
        "facebookexternalhit",
        "feedfetcher-google",
        "google-read-aloud",
    ]
)
"""Agents that act for a user, of which the operator says that robots.txt may not apply to them."""


def nearly(name: str) -> str | None:
    """The known crawler whose name is one slip from this one; None if there is none."""
    if name in KNOWN or len(name) < 5:  # noqa: PLR2004 - short names are near to each other
        return None
    return next((known for known in sorted(KNOWN) if is_one_slip(name, known)), None)

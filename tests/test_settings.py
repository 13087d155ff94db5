"""Settings: each wrong value is refused with an error that names the setting and the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_rep import ConfigurationError
from scrapy_rep.settings import SETTINGS, RepSettings
from tests.extras import skip_refused


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("fetch_timeout_seconds", "2.5", 2.5),
        ("sitemap_max", "7", 7),
        ("quick_retry_seconds", "0.5,2", (0.5, 2.0)),
        ("dry_run", "1", True),
        ("policy_overrides", '{"403": "disallow"}', {"403": "disallow"}),
        ("fetch_meta", ' {"proxy": "http://proxy.example:80", "n": 1}', {"n": 1}),
        ("fetch_meta_keys", '["proxy", "a,b"]', ("proxy", "a,b")),
        ("fetch_meta_keys", "proxy, bindaddress", ("proxy", "bindaddress")),
        ("fetch_meta_keys", "[]", ()),
        ("quick_retry_seconds", "[0.5, 2]", (0.5, 2.0)),
        ("page_obey", '["nofollow", "noai"]', ("nofollow", "noai")),
        ("usage_tokens", '{"train-ai": ["GPTBot"]}', {"train-ai": ("GPTBot",)}),
        ("usage_tokens", '{"train-ai": "GPTBot,CCBot"}', {"train-ai": ("GPTBot", "CCBot")}),
    ],
)
def test_values_may_come_as_text(name: str, text: str, value: Any) -> None:
    """As the command line passes them: ``-s 'REP_FETCH_META={"proxy": ...}'``."""
    skip_refused([f"REP_{name.upper()}"])
    values = RepSettings.of(Settings({f"REP_{name.upper()}": text}))
    if name == "policy_overrides":
        assert values.options.access.overrides == value
    elif isinstance(value, dict):
        assert value.items() <= getattr(values, name).items()
    else:
        assert getattr(values, name) == value


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("REP_OVERRIDES", "{'example.com': 'ignore'}", "begins like JSON, but is not valid JSON"),
        ("REP_OVERRIDES", '{"example.com": "allow"}', "'example.com' cannot be 'allow'"),
        ("REP_OVERRIDES", '["example.com"]', "must be a dict"),
        ("REP_FETCH_META_KEYS", '["proxy",', "begins like JSON, but is not valid JSON"),
        ("REP_FETCH_META_KEYS", '{"proxy": 1}', "must be a list of strings"),
        ("REP_QUICK_RETRY_SECONDS", '["soon"]', "must be a number"),
        ("REP_POLICY", "rfc", "must be one of 'rfc9309'"),
        ("REP_PAGE_OBEY", ["follow"], "must be a list of some of 'noindex'"),
        ("REP_PAGE_OBEY", ["max-snippet"], "must be a list of some of 'noindex'"),
        ("REP_PAGE_OBEY", {"noindex": True}, "must be a list of strings"),
        ("REP_USES", ["ai-train"], "must be a list of some of 'train-ai'"),
        ("REP_USE_LEVEL", "all", "must be one of '', 'immediate'"),
        ("REP_USE_LEVEL", 0, "must be one of '', 'immediate'"),
        ("REP_USES_UNKNOWN", True, "must be one of 'keep', 'drop'"),
        ("REP_USAGE_TOKENS", {"ai": ["GPTBot"]}, "no other keys than 'train-ai'"),
        ("REP_USAGE_TOKENS", {"tdm": ["GPTBot/1.0 (+http://a)"]}, "is not a product token"),
        ("REP_USAGE_TOKENS", ["GPTBot"], "must be a dict"),
        ("REP_ITEM_FIELD", ["robots"], "must be a string"),
        ("REP_POLICY_OVERRIDES", ["403"], "must be a dict"),
        ("REP_POLICY_OVERRIDES", {403: "disallow"}, "strings as keys"),
        ("REP_POLICY_OVERRIDES", {"40": "disallow"}, "not a class of events"),
        ("REP_POLICY_OVERRIDES", {"": "disallow"}, "not a class of events"),
        ("REP_POLICY_OVERRIDES", {"403": "deny"}, "can't mean 'deny'"),
        ("REP_POLICY_OVERRIDES", {"503": "rules"}, "can't mean 'rules'"),
        (
            "REP_POLICY_OVERRIDES",
            {"3xx": "allow"},
            "have no effect, because redirects are followed",
        ),
        *[
            ("REP_POLICY_OVERRIDES", {status: "disallow"}, "use 'redirect'")
            for status in ("300", "301", "302", "303", "307", "308")
        ],
        ("REP_FETCH_META", "proxy", "must be a dict"),
        ("REP_FETCH_META_KEYS", {"proxy": 1}, "must be a list of strings"),
        ("REP_FETCH_META_KEYS", ["proxy", 1], "must be a list of strings"),
        ("REP_CRAWL_DELAY_MAX_SECONDS", -1, "must be a number of 0 or more"),
        ("REP_FETCH_TIMEOUT_SECONDS", 0, "must be a number"),
        ("REP_FETCH_TIMEOUT_SECONDS", "soon", "must be a number"),
        ("REP_FETCH_TIMEOUT_SECONDS", float("nan"), "must be a number"),
        ("REP_FETCH_TIMEOUT_SECONDS", float("inf"), "must be a number"),
        ("REP_UNREACHABLE_WAIT_SECONDS", -1, "must be a number"),
        ("REP_SITEMAP_MAX", 0, "whole number of 1 or more"),
        ("REP_SITEMAP_MAX", 5.5, "whole number"),
        ("REP_SITEMAP_MAX", True, "whole number"),
        ("REP_PARSE_LIMIT_OCTETS", 500_000, "512000 or more"),
        ("REP_CACHE_MAX_SECONDS", 0, "must be a number"),
        ("REP_CACHE_MIN_SECONDS", 90_000, "no more than REP_CACHE_MAX_SECONDS"),
        ("REP_UNREACHABLE_AFTER_30_DAYS", "maybe", "must be one of 'allow', 'disallow'"),
        ("REP_QUICK_RETRY_SECONDS", 5, "must be a list of numbers"),
        ("REP_QUICK_RETRY_SECONDS", [1, -1], "must be a number"),
        ("REP_REDIRECT_GUARD", "private", "must be one of 'any'"),
        ("REP_GUARD_NETWORKS", ["10.0.0.1/8"], "has host bits set: write networks such as"),
        ("REP_GUARD_NETWORKS", "lan", "does not appear to be an IPv4 or IPv6 network: write"),
        ("REP_GUARD_NETWORKS", [10], "must be a list of strings"),
        ("REP_GUARD_NETWORKS", "10.0.0.0/8", "needs REP_REDIRECT_GUARD = 'public'"),
        ("REP_STORE", "ridis", "must be 'auto'"),
        ("REP_STORE", "redis", "needs REP_REDIS_URL"),
        ("REP_STORE_PATH", 3, "must be a path"),
        ("REP_REDIS_URL", 6379, "must be a URL"),
        ("REP_REDIS_URL", "localhost:6379", "must begin with redis://"),
        ("REP_REDIS_URL", "http://localhost:6379", "must begin with redis://"),
        ("REP_REDIS_URL", "redis://", "must begin with redis://"),
        ("REP_REDIS_URL", "redis://localhost/abc", "has 'abc' for a database: give its number"),
        ("REP_REDIS_URL", "redis://:a/b@localhost/0", "write / as %2F"),
        ("REP_OVERRIDES", {"example.com": "allow"}, "'example.com' cannot be 'allow'"),
        ("REP_OVERRIDES", {"example.com": {"robots": ""}}, "use 'ignore'"),
        ("REP_DRY_RUN", "perhaps", "must be True or False"),
        ("REP_MEMORY_OCTETS", 0, "whole number of 1 or more"),
        pytest.param("REP_FETCH_TIMEOUT_SECONDS", 10**400, "must be a number", id="large"),
        ("REP_FETCH_TIMEOUT_SECONDS", "1e400", "must be a number"),
        ("REP_QUICK_RETRY_SECONDS", [1, 10**400], "must be a number"),
        ("REP_QUICK_RETRY_SECONDS", [-(10**400)], "must be a number"),
        ("REP_STORE_PATH", "a\0b", "holds a NUL character"),
        ("REP_WARC_DIR", "a\0b", "holds a NUL character"),
        ("REP_AUDIT_DIR", "a\0b", "holds a NUL character"),
        ("REP_REPORT", "a\0b", "holds a NUL character"),
        ("REP_STORE_PATH", "~nobody-of-this-name/a.sqlite", "the home folder is not known"),
        ("REP_POLICY_OVERIDES", {}, "did you mean REP_POLICY_OVERRIDES?"),
        ("REP_CACHE_MAX", 60, "did you mean REP_CACHE_MAX_SECONDS?"),
        ("REP_CACHE", 60, "did you mean REP_CACHE_MIN_SECONDS or REP_CACHE_MAX_SECONDS?"),
        ("REP_MEMORY", 60, "did you mean REP_MEMORY_OCTETS?"),
        ("REP_FETCH_TIMEOUT", 60, "did you mean REP_FETCH_TIMEOUT_SECONDS?"),
        ("REP_CRAWL_DELAY_MAX", 60, "did you mean REP_CRAWL_DELAY_MAX_SECONDS?"),
        ("REP_BACKOFF_MAX", 60, "did you mean REP_BACKOFF_MAX_SECONDS?"),
        ("REP_BACKOFF_GIVE_UP", 60, "did you mean REP_BACKOFF_GIVE_UP_SECONDS?"),
        ("REP_USAGE", {}, "did you mean REP_USAGE_TOKENS?"),
        ("REP_POLICIES", "strict", "did you mean REP_POLICY?"),
        ("REP_USE", "tdm", "did you mean REP_USES or REP_USE_LEVEL or REP_USES_UNKNOWN?"),
        ("REP_CACHE_SECONDS", 60, "REP_CACHE_MIN_SECONDS or REP_CACHE_MAX_SECONDS?"),
        ("REP_USER_AGENT", "Bot", "there is no such setting; the documentation lists all names"),
        ("REP_SALES_REGION", "north", "there is no such setting"),
        ("REP_", 1, "there is no such setting"),
        ("rep_policy", "strict", "did you mean REP_POLICY?"),
        ("Rep_Dry_Run", True, "did you mean REP_DRY_RUN?"),
        ("REP_policy", "strict", "did you mean REP_POLICY?"),
    ],
)
def test_wrong_values_are_refused_by_name(name: str, value: Any, words: str) -> None:
    skip_refused([name])
    with pytest.raises(ConfigurationError) as raised:
        RepSettings.of(Settings({name: value}))
    assert name in str(raised.value)
    assert words in str(raised.value)


PATHS = ("REP_AUDIT_DIR", "REP_REPORT", "REP_WARC_DIR", "REP_STORE_PATH", "REP_SIGN_KEY")


@pytest.mark.parametrize("name", PATHS)
def test_uris_are_no_paths(name: str) -> None:
    """A local folder such as ``s3:`` would be made. A `Path` keeps one of the slashes."""
    skip_refused([name])
    needed = {
        "REP_REPORT": {"REP_AUDIT_DIR": "audit"},
        "REP_SIGN_KEY": {"REP_SIGN_AGENT": "https://a.example"},
    }
    more = needed.get(name, {})
    for uri in ("s3://bucket/x", "gs://bucket/x", "ftp://host/x", "S3://bucket/x"):
        for value in (uri, Path(uri)):
            with pytest.raises(ConfigurationError, match=f"^{name} = .*use a local one"):
                RepSettings.of(Settings({**more, name: value}))
    for text in ("file:///a/b%20c", "file:/a/b c", "FILE://localhost/a/b c"):
        with pytest.raises(ConfigurationError, match=f"^{name} = .*: write '/a/b c'$"):
            RepSettings.of(Settings({**more, name: text}))
    for path in ("C:\\x", "C:/x", "report-12:30.html", "a/b:/c"):
        values = RepSettings.of(Settings({**more, name: path}))
        assert getattr(values, name[4:].lower()) == path


def test_every_setting_that_is_a_path_refuses_uris() -> None:
    """Only the URLs of Redis and of the signature agent may be URIs."""
    for name, setting in SETTINGS.items():
        if name.endswith(("_DIR", "_PATH", "_FILE", "_KEY")) or name == "REP_REPORT":
            assert name in PATHS
            with pytest.raises(ValueError, match="not a URI"):
                setting.check("s3://bucket/x")


@pytest.mark.parametrize("name", ["redirect", "redirect-loop", "304", "305"])
def test_each_end_of_a_file_fetch_may_be_overridden(name: str) -> None:
    values = RepSettings.of(Settings({"REP_POLICY_OVERRIDES": {name: "disallow"}}))
    assert values.options.access.overrides == {name: "disallow"}


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_large_numbers_are_shown(name: str) -> None:
    """The error is ours, and names the setting."""
    for number in (10**400, -(10**400), 10**5000, float("inf"), float("nan")):
        with pytest.raises(ConfigurationError, match=name) as raised:
            RepSettings.of(Settings({name: number}))
        assert len(str(raised.value)) < 1000


def test_a_home_folder_is_expanded() -> None:
    for value in ("~/a.sqlite", Path("~/a.sqlite")):
        path = RepSettings.of(Settings({"REP_STORE_PATH": value})).store_path
        assert path == str(Path.home() / "a.sqlite")
    assert RepSettings.of(Settings({"REP_STORE_PATH": "a~/~"})).store_path == "a~/~"


def test_passwords_are_not_shown() -> None:
    skip_refused(["REP_REDIS_URL"])
    with pytest.raises(ConfigurationError) as raised:
        RepSettings.of(Settings({"REP_REDIS_URL": "http://me:secret@localhost"}))
    assert "secret" not in str(raised.value)
    assert "localhost" in str(raised.value)
    with pytest.raises(ConfigurationError) as raised:
        RepSettings.of(Settings({"REP_REDIS_URL": "redis://me:sec/ret@localhost"}))
    assert "me:sec" not in str(raised.value)
    for url in (
        *(":secret@localhost", "me:secret@localhost", "redis:/me:secret@localhost"),
        *("redis://me:it's-secret@localhost/x", ["redis://me:secret@localhost"]),
    ):
        with pytest.raises(ConfigurationError) as raised:
            RepSettings.of(Settings({"REP_REDIS_URL": url}))
        assert "secret" not in str(raised.value)
        assert "***@localhost" in str(raised.value)


@pytest.mark.parametrize("name", ["REPORT_DIR", "rep_sales_region", "MY_REP_POLICY"])
def test_settings_of_others_are_left_alone(name: str) -> None:
    RepSettings.of(Settings({name: "north"}))


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_every_beginning_of_a_name_is_refused_with_that_name(name: str) -> None:
    words = name.split("_")
    for count in range(2, len(words)):
        start = "_".join(words[:count])
        if start in SETTINGS:
            continue
        with pytest.raises(ConfigurationError, match="did you mean") as raised:
            RepSettings.of(Settings({start: 1}))
        assert f"{name} or " in f"{raised.value}".replace("?", " or ").replace(",", " or")


def test_settings_have_a_sentence_each() -> None:
    for setting in SETTINGS.values():
        assert setting.meaning.endswith(".")
        setting.check(setting.default)

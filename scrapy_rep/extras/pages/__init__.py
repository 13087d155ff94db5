"""Rules and preferences of pages: read from responses on demand, and obeyed if settings say so."""

from typing import TYPE_CHECKING

from scrapy_rep.extras import load_late

_NAMES = {
    "page.rules": "PageRule PageRules",
    "usage.licences": "PaymentRequired",
    "usage.preference": "Licence Preference Statement UsagePreferences UseLevel",
}
load_late(__name__, _NAMES)

if TYPE_CHECKING:
    from .page.rules import PageRule as PageRule
    from .page.rules import PageRules as PageRules
    from .usage.licences import PaymentRequired as PaymentRequired
    from .usage.preference import Licence as Licence
    from .usage.preference import Preference as Preference
    from .usage.preference import Statement as Statement
    from .usage.preference import UsagePreferences as UsagePreferences
    from .usage.preference import UseLevel as UseLevel

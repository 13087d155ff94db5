"""Lints, rewrites and compares robots.txt files, for their authors."""

from typing import TYPE_CHECKING

from scrapy_rep.extras import load_late

_NAMES = {
    "checks.codes": "Code Effect Severity",
    "findings": "Finding",
    "linting.linter": "lint",
    "rewrite.normal": "Mode normalise",
}
load_late(__name__, _NAMES)

if TYPE_CHECKING:
    from .checks.codes import Code as Code
    from .checks.codes import Effect as Effect
    from .checks.codes import Severity as Severity
    from .findings import Finding as Finding
    from .linting.linter import lint as lint
    from .rewrite.normal import Mode as Mode
    from .rewrite.normal import normalise as normalise

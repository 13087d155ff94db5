"""The documentation site: `sphinx-build -W -b html docs build/docs`."""

from importlib.metadata import version as version_of

from docutils import nodes
from sphinx.application import Sphinx

import scrapy_rep.policy
import scrapy_rep.protocol.document
from scrapy_rep.extras.pages import UsagePreferences
from scrapy_rep.extras.webmaster import Finding
from scrapy_rep.settings import SETTINGS

# These modules import the names late, but their annotations need them.
vars(scrapy_rep.policy).update(Finding=Finding, UsagePreferences=UsagePreferences)
vars(scrapy_rep.protocol.document).update(UsagePreferences=UsagePreferences)

project = "scrapy-rep"
author = "the scrapy-rep developers"
project_copyright = "the scrapy-rep developers"
version = release = version_of("scrapy-rep")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["screens/*.txt"]
html_extra_path = ["examples"]  # a report, copied unchanged

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["toc.not_included"]  # the index of lint codes links their pages

nitpicky = True
napoleon_use_ivar = True  # otherwise properties are described twice
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True
nitpick_ignore_regex = [
    ("py:class", r".* .*"),  # the part of a sentence before a colon, read as a type
    # Names of other projects, which a build without network cannot link.
    ("py:.*", r"(scrapy|twisted|collections|concurrent|pathlib|typing|datetime|enum)\..*"),
    ("py:class", r"date(time)?"),
    ("py:.*", r"scrapy_rep\.protocol\.text\.Text"),
    # Types of values that users need not name.
    ("py:.*", r"scrapy_rep\.extras\.webmaster\.mending\.Mend"),
    ("py:.*", r"scrapy_rep\.protocol\.access\.events\.Failure"),
    ("py:.*", r"scrapy_rep\.protocol\.(fields\.remarks\.Problem|lines\.Coding)"),
    (
        "py:.*",
        r"(StoreError|Outage|Fault|Tdmrep|Crawler|Spider|Request|Response|Self|Any|Settings|BaseSettings|Path|Future)",
    ),
]

smartquotes_action = "D"  # not quotes, so that values of settings can be copied

html_theme = "furo"
html_static_path = ["style"]
html_css_files = ["tables.css"]
html_title = "scrapy-rep"
html_theme_options = {
    "source_repository": "https://github.com/scrapy-rep/scrapy-rep/",
    "source_branch": "main",
    "source_directory": "docs/",
}
copybutton_prompt_text = "$ "

_SETTINGS_PAGE = "reference/settings"


def _link_settings(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link the names of settings to their headings: `REP_POLICY`, `REP_POLICY = "strict"`."""
    if page == _SETTINGS_PAGE:
        return
    target = app.builder.get_relative_uri(page, _SETTINGS_PAGE)
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().split(" ")[0]
        if name in SETTINGS and not isinstance(literal.parent, (nodes.reference, nodes.title)):
            anchor = name.lower().replace("_", "-")
            link = nodes.reference("", "", literal.deepcopy(), refuri=f"{target}#{anchor}")
            literal.replace_self(link)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("doctree-resolved", _link_settings)

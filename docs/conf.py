"""The documentation site: `sphinx-build -W -b html docs build/docs`."""

from importlib.metadata import version as version_of

import scrapy_rep.policy
import scrapy_rep.protocol.document
from scrapy_rep import Finding, UsagePreferences

# What these load only once somebody asks, their annotations name all the same.
vars(scrapy_rep.policy).update(Finding=Finding, UsagePreferences=UsagePreferences)
vars(scrapy_rep.protocol.document).update(UsagePreferences=UsagePreferences)

project = "scrapy-rep"
author = "the scrapy-rep developers"
project_copyright = "the scrapy-rep developers"
version = release = version_of("scrapy-rep")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["screens/*.txt"]
html_extra_path = ["examples"]  # a report, as it is

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["toc.not_included"]  # a page for each lint code: their index links them

nitpicky = True
napoleon_use_ivar = True  # or attributes that are properties would be described twice
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True
nitpick_ignore_regex = [
    ("py:class", r".* .*"),  # a sentence with a colon, whose beginning is taken for a type
    # Other projects' names, of which a build without network knows nothing.
    ("py:.*", r"(scrapy|twisted|collections|concurrent|pathlib|typing|datetime|enum)\..*"),
    ("py:.*", r"scrapy_rep\.protocol\.text\.Text"),
    # Types of values that users are given, or give, without naming them.
    ("py:.*", r"scrapy_rep\.analysis\.mending\.Mend"),
    ("py:.*", r"scrapy_rep\.protocol\.access\.events\.Failure"),
    ("py:.*", r"scrapy_rep\.protocol\.fields\.sources\.Problem"),
    (
        "py:.*",
        r"(StoreError|Crawler|Spider|Request|Response|Self|Any|Settings|BaseSettings|Path|Future)",
    ),
]

smartquotes_action = "D"  # not quotes: values of settings stay as they have to be typed

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

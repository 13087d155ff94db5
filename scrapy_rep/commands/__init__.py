"""The subcommands of ``scrapy rep``, a file each.

A subcommand has SUMMARY, DESCRIPTION, EXAMPLES, `add_arguments` and `run`, which returns the exit
status. The help loads all these modules, so they import heavy modules inside `run`.
"""

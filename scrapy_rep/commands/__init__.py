"""The subcommands of ``scrapy rep``, a file each.

A subcommand has SUMMARY, DESCRIPTION, EXAMPLES, `add_arguments` and `run`, which gives the exit
status. Its module is loaded for the help of all of them: what is heavy is imported inside `run`.
"""

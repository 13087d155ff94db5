"""Pages for people: one file, no script, nothing loaded; needs Jinja, the extra ``report``."""

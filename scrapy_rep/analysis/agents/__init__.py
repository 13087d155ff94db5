"""Known crawlers: their operators, their purposes, and the rules that they are said to obey."""

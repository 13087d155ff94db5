"""Known crawlers: who sends them and what for, and what they are said to obey, by whom."""

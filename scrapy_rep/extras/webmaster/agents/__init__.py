"""Known crawlers: their operators, their purposes, and the rules that they obey by some source."""

"""The subcommands for people who write robots.txt."""

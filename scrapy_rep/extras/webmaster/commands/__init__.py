"""The subcommands for authors of robots.txt files."""

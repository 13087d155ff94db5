"""Findings, lint, effect and rewriting of files, for people who write robots.txt."""

"""Lints, rewrites and compares robots.txt files, for their authors."""

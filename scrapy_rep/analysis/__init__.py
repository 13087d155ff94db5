"""Reads documents as values: findings, lint, effect, rewriting. The core never imports it."""

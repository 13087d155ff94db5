"""Analysis of documents: findings, lint, effect, rewriting. The core never imports it."""

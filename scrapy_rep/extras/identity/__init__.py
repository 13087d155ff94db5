"""Proofs that a request comes from its crawler: signatures, keys, and the crawler's card."""

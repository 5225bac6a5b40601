"""Attacks on released sums: what a server learns that reads no single update, only what it adds up."""

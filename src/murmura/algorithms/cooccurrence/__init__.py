"""Recommenders made of exact sums: how often items occur, and how often two of them occur together. Ours."""

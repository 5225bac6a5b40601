"""Federated recommenders of other authors, from their papers' equations, on one ground."""

"""Attacks on our own simulations: what the updates of a training give away."""

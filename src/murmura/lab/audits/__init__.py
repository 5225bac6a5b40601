"""Attacks on what left the clients, run against our own simulations, and the judge of what they found.

An attack reads updates and what everybody knows, and makes claims; the judge alone knows the truth. One
function is one attack, and one row of `ATTACKS` in its file.
"""

"""A federation of organisations on Flower: each SuperNode is a silo with its people, the SuperLink has none.

Only `flower_apps` imports flwr; everything else carries bytes, whoever moves them.
"""

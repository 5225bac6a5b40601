"""A federation of organisations on Flower: each SuperNode is a silo with its people, the SuperLink has none.

Only `server_app`, `client_app` and `records` import flwr; everything else carries bytes, whoever moves them.
"""

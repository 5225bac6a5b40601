"""A federation of organisations on Flower: each SuperNode is a silo with its people, the SuperLink has none.

Only `server_app` and `client_app` import flwr; everything else carries bytes, whoever moves them.
"""

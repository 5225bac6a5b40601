"""A federation over HTTP: coordinator, aggregators and devices as state machines that know no web framework.

Clock, randomness, storage and transport are handed in, so that a test can be the network.
"""

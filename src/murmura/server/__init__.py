"""The servers of a federation as state machines that know no web framework: coordinator, aggregators, admitter.

Clock, randomness, storage and transport are handed in, so that a test can be the network.
"""

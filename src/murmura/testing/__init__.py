"""The conformance kit: what every algorithm inherits as tests, one's own and a stranger's alike.

It needs no test framework: every check is a plain function that raises AssertionError. `AlgorithmKit` gathers
them in a class that pytest collects once a test module inherits it.
"""

from murmura.testing.algorithm import AlgorithmKit
from murmura.testing.data import checkerboard, crowd, labelled, rated_checkerboard

__all__ = ["AlgorithmKit", "checkerboard", "crowd", "labelled", "rated_checkerboard"]

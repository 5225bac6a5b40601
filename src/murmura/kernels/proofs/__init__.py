"""Proofs over the field of p = 2⁶⁴ − 2³² + 1, compiled: arithmetic, the product gadget, our circuits."""

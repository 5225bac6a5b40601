"""Factorisations compiled: least squares, stochastic gradients and non-negative factors."""

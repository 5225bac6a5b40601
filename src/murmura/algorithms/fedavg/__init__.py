"""Federated averaging of classifiers (McMahan et al., AISTATS 2017; A. Ferrara's thesis, chapter 5)."""

"""Classifiers of samples: federated averaging, MNIST and CelebA (A. Ferrara's thesis, chapter 5)."""

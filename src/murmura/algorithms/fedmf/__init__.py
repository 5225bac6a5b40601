"""FedMF: federated matrix factorisation of ratings, in rounds."""

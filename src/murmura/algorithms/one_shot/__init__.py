"""Ratings predicted after one exchange, by a ridge regression on each client: ours, beside FedSPLIT."""

"""FedSPLIT: one exchange between groups, as published; ours beside it, down to plain item means."""

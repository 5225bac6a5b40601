"""FCF: federated collaborative filtering, as its paper has it and as the baseline of FedeRank and FPL."""

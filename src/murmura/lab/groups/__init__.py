"""FedSPLIT's tables over groups, and every group tuned as in the paper."""

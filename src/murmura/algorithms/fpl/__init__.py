"""FedeRank and FPL: federated pair-wise learning to rank, as published, and ours for cohorts."""

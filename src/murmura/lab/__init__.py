"""What studies of papers need: attacks, analyses, reproductions, groups, blends, simulated protections."""

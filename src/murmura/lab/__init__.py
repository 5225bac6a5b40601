"""What studies of papers need: attacks, analyses, reproductions, tuned groups, simulated protections."""

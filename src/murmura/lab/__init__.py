"""What studies need: attacks, analyses, reproductions, sources, rivals, groups, blends, protections."""

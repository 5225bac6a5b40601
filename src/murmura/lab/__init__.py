"""What studies of papers need: attacks, analyses, reproductions, sources, rivals, groups, blends, protections."""

"""What studies of papers need: attacks, analyses, reproductions, sources, networks, groups, blends, protections."""

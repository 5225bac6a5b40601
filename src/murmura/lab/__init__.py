"""What studies of papers need: attacks, analyses, reproductions, groups, networks, blends, protections."""

"""What studies of papers need: attacks, analyses, reproductions, sources, networks, groups, protections."""

"""What studies of papers need: attacks, analyses, reproductions, networks, tuned groups, protections."""

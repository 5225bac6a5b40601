"""What studies of papers need: attacks, analyses, reproductions, data, rivals, groups, blends, protections."""

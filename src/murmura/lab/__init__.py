"""What studies of papers need: attacks, analyses, reproductions, rivals, tuned groups, protections."""

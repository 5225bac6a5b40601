"""What papers' studies need: attacks, analyses, reproductions, sources, networks, groups, blends, protections."""

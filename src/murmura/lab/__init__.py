"""What papers' studies need: attacks, analyses, tables, sources, networks, groups, blends, protections."""

"""Models made of sums of co-occurrences: packed counters, item-item weights, the scores of one person."""

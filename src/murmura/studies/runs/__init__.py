"""Values on disk, read once: a run, a comparison, a search, a reproduction."""

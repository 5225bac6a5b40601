"""What a finished comparison says beyond its results: bias, frequency, freshness, costs."""

"""Was a held-out row used before its time? Run folders made again without those rows."""

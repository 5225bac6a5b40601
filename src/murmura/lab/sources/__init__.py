"""Data sets that were published with the papers, one file each: `data.sources` reads them by name."""

"""Speed, memory and quality together, beside rivals: `make bench`."""

"""Speed, memory and quality together, beside rivals: `python -m benchmarks`."""

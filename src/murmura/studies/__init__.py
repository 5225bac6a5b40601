"""Many runs: comparisons, searches, sweeps."""

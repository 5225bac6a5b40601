"""A device: what it keeps, how it joins, takes part and ranks; and many simulated ones in one process."""

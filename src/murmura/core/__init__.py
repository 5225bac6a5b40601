"""The words of Murmura: what the other rooms pass to each other."""

"""Random numbers compiled: Philox, and draws from its streams."""

"""The coordinator: it publishes rounds, gives tickets, and turns the sum of a round into the next model."""

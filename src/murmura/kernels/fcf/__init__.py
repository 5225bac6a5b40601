"""FCF compiled: the sum of many clients, as it is or through a channel."""

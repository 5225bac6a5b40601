"""The weight and the discount of a blend."""

"""KGFlex: recommendations from the features of items, with reasons."""

"""Knowledge graphs and tables of features: what a person can read about the items, from files."""

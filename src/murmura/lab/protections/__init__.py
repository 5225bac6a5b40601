"""Other protocols and other noise than those of two aggregators, in simulations: what each costs."""

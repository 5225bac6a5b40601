"""How a round is collected: in one process now, over HTTP later; results never depend on which."""

"""How a round is collected: in one process or by ranges of clients elsewhere; results never depend on which."""

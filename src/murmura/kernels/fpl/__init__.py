"""FPL compiled: the arithmetic of a triple, and rounds of one client, of cohorts and through a channel."""

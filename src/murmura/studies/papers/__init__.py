"""The papers' tables and figures: what is run, what was printed, and whether it is reproduced."""

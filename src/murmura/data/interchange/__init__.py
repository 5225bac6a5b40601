"""The files of other tools: ranked lists and splits, written and read."""

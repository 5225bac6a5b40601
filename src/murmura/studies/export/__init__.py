"""Lists and splits for other libraries, and lists of theirs."""

"""A paper's table or figure beside ours: numbers, verdicts, page, files; and what methods trade."""

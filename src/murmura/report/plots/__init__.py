"""The pictures of a page, drawn with matplotlib."""

"""What the documentation site needs beside the pages: hooks of mkdocs, and a look at what was built."""

"""Files of interactions: text and Parquet become checked columns, and columns become files."""

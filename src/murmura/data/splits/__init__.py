"""How a data set is cut into training, validation and test rows: one file per rule."""

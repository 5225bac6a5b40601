"""Models side by side on one data set."""

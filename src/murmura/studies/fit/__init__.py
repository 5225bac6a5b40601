"""One model on one data set."""

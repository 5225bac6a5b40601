"""One of the two aggregators: it adds up shares and releases one sum per round."""

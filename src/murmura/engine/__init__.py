"""One model, one data set, one result: protocols, fitting, the run folder."""

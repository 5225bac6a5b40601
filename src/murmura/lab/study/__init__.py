"""Studies: several methods on several data sets, each searched with the same number of trials."""

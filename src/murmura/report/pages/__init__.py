"""The pages themselves: of a run or comparison, of a search, of a reproduction."""

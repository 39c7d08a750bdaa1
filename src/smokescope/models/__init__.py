"""The networks of the paper, as plain modules."""

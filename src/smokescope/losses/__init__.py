"""The losses of the paper, each a function and its thin module."""

"""How fast each engine is on the machine at hand."""

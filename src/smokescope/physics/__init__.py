"""What smoke is: the transmission of light through it."""

"""`python -m smokescope`, where the command itself is not on the path."""

from smokescope.cli import main

main()

"""The command line: one thin module a verb."""


def main() -> None:
    """Entry point of the `smokescope` command."""
    raise SystemExit("not yet")

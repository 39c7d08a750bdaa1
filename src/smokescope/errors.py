"""The one exception that stands for somebody's mistake rather than ours."""


class SmokescopeError(Exception):
    """Bad input: one sentence for a person: which file, and what to do. The CLI prints it, exit code 2."""

"""The one error that people see from the harness: what is wrong and what to do, without a traceback."""


class ClusterError(RuntimeError):
    """The cluster can't be found, built, started or stopped; the text says what to do about it."""

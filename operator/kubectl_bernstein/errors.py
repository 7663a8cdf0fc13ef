"""The one way in which a command fails: with a line that a person can act on."""


class CommandError(Exception):
    """Why a command can't do what it was asked, as one line."""

"""The first lines that run, written so that any Python 3 understands them.

An image may bring a Python that can't even parse the rest, and its owner should read what is missing instead
of a SyntaxError. So the version is checked before anything else of the package is imported.
"""

import sys

EX_UNAVAILABLE = 69


def main() -> int:
    """Run the command line, or say which Python it needs."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this is what tells the others
        found = "%d.%d" % sys.version_info[:2]  # noqa: UP031
        sys.stderr.write("bernstein-agent needs Python 3.11 or later; this image has Python " + found + ".\n")
        return EX_UNAVAILABLE
    from bernstein_agent.cli import main as command_line  # noqa: PLC0415

    return command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

"""Where the program begins, as ``kubectl-bernstein`` and as ``python -m kubectl_bernstein``.

Its libraries are an extra of the distribution, since the operator's image has no use for them. Whoever
installed it without is told so instead of being shown a traceback.
"""

import sys


def main() -> int:
    """Run the program; returns its exit code."""
    try:
        from kubectl_bernstein.cli import run  # noqa: PLC0415 - it is the import that may fail
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        sys.stderr.write(f"error: {package} is not installed: pip install 'bernstein-operator[plugin]'\n")
        return 1
    return run()


def complete() -> int:
    """Answer kubectl, which asks for completions (``kubectl_complete-bernstein``)."""
    from kubectl_bernstein.cli import cli  # noqa: PLC0415 - as above; no answer is no completion
    from kubectl_bernstein.completion import answer_kubectl  # noqa: PLC0415

    sys.stdout.writelines(f"{line}\n" for line in answer_kubectl(cli, sys.argv[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

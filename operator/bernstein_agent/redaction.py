"""Taking secrets out of what is shown: logs, and the result that lands in the task's status.

An agent holds its provider's key and perhaps a git token, and programs print both in their error messages.
Two things can be recognised: credentials inside a URL, and values of variables whose name says what they are.
"""

import re
from collections.abc import Mapping
from typing import Final

MASK: Final = "***"
_SECRET_NAME: Final = re.compile(
    r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY", re.IGNORECASE
)
_USERINFO: Final = re.compile(r"(?<=://)[^/@\s'\"]+@")
_SHORTEST: Final = 8
"""A shorter value would blot out ordinary words."""


class Redactor:
    """Replaces what looks like a secret by three stars."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        values = {
            value for name, value in environ.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST
        }
        self._values = sorted(values, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return ``text`` without secrets."""
        for value in self._values:
            text = text.replace(value, MASK)
        return _USERINFO.sub(f"{MASK}@", text)

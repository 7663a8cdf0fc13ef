"""The ranges that fields of different kinds share: values at their bounds, and values beyond them."""

from typing import Final, NamedTuple


class Bounds(NamedTuple):
    """What a field takes and what it refuses."""

    accepted: tuple[object, ...]
    refused: tuple[object, ...]


MONTH: Final = 2_592_000
DAY: Final = 86_400
TOO_BIG_FOR_INT32: Final = 2_147_483_648

BOOLEAN: Final = Bounds((True, False), ("yes", 1))
COUNTER: Final = Bounds((0, 1_000_000), (-1, 1_000_001, 1.5))
AGENTS: Final = Bounds((0, 1, 1000), (-1, 1.5, 1001, TOO_BIG_FOR_INT32))
TOKENS: Final = Bounds((0, 2**53), (-1, 2**53 + 1))
GENERATION: Final = Bounds((-1, 0, 2**53), (-2, "1"))
TIMEOUT: Final = Bounds((1, MONTH), (0, -5, MONTH + 1, TOO_BIG_FOR_INT32, "1h"))
WAIT: Final = Bounds((0, MONTH), (-1, MONTH + 1))
MOMENT: Final = Bounds(("2026-01-01T12:00:00Z", "2026-01-01T12:00:00.123456Z"), ("yesterday", 5, ""))
DNS_LABEL: Final = Bounds(("a", "a-1", "a" * 63), ("", "A", "-a", "a_b", "a.b", "a" * 64))
OBJECT_NAME: Final = Bounds(("a", "a.b-c", "a" * 253), ("", "A", "a..b", "ns/a", "a" * 254))
UID: Final = Bounds(("8d3e1b63", "x" * 128), ("x" * 129,))
WORD: Final = Bounds(("NonZeroExit", "x" * 128), ("two words", "x" * 129, ""))
TEXT_1024: Final = Bounds(("", "x" * 1024), ("x" * 1025, 5))
BRANCH: Final = Bounds(("bernstein/r/t", "x" * 640), ("x" * 641,))
FINGERPRINT: Final = Bounds(("0123456789abcdef", "f" * 32), ("", "0x1", "ABC", "f" * 33))
COMMIT: Final = Bounds(("a" * 40, "0" * 64), ("a" * 39, "A" * 40, "HEAD", "a" * 41))
MONEY: Final = Bounds(
    (0, 5, "12.50", "0.000001", 999_999_999),
    (-1, "abc", "NaN", "inf", "1e400", "-0.01", "0.0000001", 1_000_000_000, "1000000000", 0.5),
)
QUANTITY: Final = Bounds((0, 2, "500m", "1Gi", "1.5", "1e3"), (-1, "-1Gi", "much", "1GiB", "", "1" * 33))
DEPENDS_ON: Final = Bounds(
    ([], ["other"], ["twice", "twice"], [f"t{n}" for n in range(256)]),
    ("other", ["otherns/t"], [""], ["T"], ["a" * 64], [1], [f"t{n}" for n in range(257)]),
)
MODEL: Final = Bounds(("m", "vendor/model-1.5:latest@v+x_y", "x" * 128), ("", "-m", "a b", "x" * 129))
EFFORT: Final = Bounds(("low", "medium", "high", "max"), ("High", "xhigh", ""))
ABANDON_REASON: Final = Bounds(("other", "out_of_scope", "x" * 32), ("", "Other", "out-of-scope", "x" * 33))
PERCENT: Final = Bounds((0, 20, 100), (-1, 101, 2.5, "20%"))
BAND_PERCENT: Final = Bounds((1, 80, 90), (0, 101, "80"))
"""Up to the other band's, which is 90 in the complete manifest."""
ON_EXHAUSTED: Final = Bounds(("Fail", "AwaitInput", "Abandon"), ("fail", "awaitInput", ""))
SPAN: Final = Bounds((1, DAY), (0, -1, DAY + 1, "10m"))
COMMAND_LINE: Final = Bounds((["sh"], ["x"] * 64, ["", "x" * 4096]), (["x"] * 65, ["x" * 4097], "sh -c true"))
WORDS: Final = Bounds(("", "x" * 8192), ("x" * 8193, 5))
PROMPT: Final = Bounds(
    ("x", "x" * 65_536, "é" * 32_768),
    ("", "x" * 65_537, "é" * 32_769, True),
)

"""A termination message never has more than 4096 bytes, and loses the least that it can."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bernstein_agent.contract import MAX_MESSAGE_BYTES, Abandonment, AbandonReason, parse_result
from tests.unit.agent.examples import result

LONGEST_BRANCH = "b" * 640
LARGEST = {
    "reason": "R" + "x" * 127,
    "exit_code": -128,
    "head_before": "a" * 64,
    "head_after": "b" * 64,
    "branch": LONGEST_BRANCH,
    "rescue_branch": LONGEST_BRANCH,
    "digest": "sha256:" + "0" * 64,
    "retry_after_seconds": 2_592_000,
}


def gave_up(detail: str) -> Abandonment:
    return Abandonment(reason=AbandonReason.CONFLICTING_INSTRUCTIONS, detail=detail)


def room() -> int:
    """Return how many bytes an otherwise empty result leaves for its summary."""
    return MAX_MESSAGE_BYTES - len(result().to_json().encode())


def test_what_fits_exactly_is_left_alone() -> None:
    text = "x" * room()
    message = result(summary=text).to_termination_message()
    assert len(message.encode()) == MAX_MESSAGE_BYTES
    assert parse_result(message).summary == text


@pytest.mark.parametrize("over", [1, 2, 3, 4, 10_000], ids=lambda over: f"{over} too many")
@pytest.mark.parametrize(
    "character",
    ["x", "é", "€", "🎼", "\n", '"', "\x01"],
    ids=["1", "2", "3", "4", "newline", "quote", "control"],
)
def test_a_summary_is_cut_at_a_character_with_a_mark(character: str, over: int) -> None:
    encoded = len(json.dumps(character, ensure_ascii=False).encode()) - 2
    text = character * (room() // encoded + over)
    message = result(summary=text, message="stays").to_termination_message()
    read = parse_result(message)
    assert MAX_MESSAGE_BYTES - 2 * encoded - 3 < len(message.encode()) <= MAX_MESSAGE_BYTES
    assert read.summary == character * (len(read.summary) - 1) + "…"
    assert read.message == "stays"


def test_the_message_is_cut_only_when_the_whole_summary_is_gone() -> None:
    message = result(summary="s" * 5000, message="m" * 5000).to_termination_message()
    read = parse_result(message)
    assert read.summary == ""
    assert read.message.endswith("m…")
    assert len(message.encode()) == MAX_MESSAGE_BYTES


def test_the_detail_of_an_abandonment_outlives_summary_and_message() -> None:
    whole = result(summary="s" * 5000, message="m" * 5000, abandonment=gave_up("d" * 2000))
    read = parse_result(whole.to_termination_message())
    assert (read.summary, read.abandonment) == ("", whole.abandonment)
    assert read.message.endswith("m…")


def test_the_detail_of_an_abandonment_is_cut_last() -> None:
    whole = result(summary="s" * 5000, message="m" * 5000, abandonment=gave_up("d" * 5000))
    message = whole.to_termination_message()
    read = parse_result(message)
    assert (read.summary, read.message) == ("", "")
    assert read.abandonment
    assert read.abandonment.detail.endswith("d…")
    assert len(message.encode()) == MAX_MESSAGE_BYTES


def test_what_decisions_rest_on_always_fits() -> None:
    whole = result(summary="s" * 9000, message="m" * 9000, abandonment=gave_up("d" * 9000), **LARGEST)
    message = whole.to_termination_message()
    read = parse_result(message)
    assert {name: getattr(read, name) for name in LARGEST} == LARGEST
    assert read.abandonment
    assert read.abandonment.reason is AbandonReason.CONFLICTING_INSTRUCTIONS
    assert len(message.encode()) <= MAX_MESSAGE_BYTES


def test_output_that_is_no_text_is_made_one() -> None:
    assert parse_result(result(summary="a\ud800b").to_termination_message()).summary == "a?b"


@given(summary=st.text(max_size=6000), message=st.text(max_size=6000), detail=st.text(max_size=6000))
def test_any_text_makes_a_message_that_fits_and_can_be_read(summary: str, message: str, detail: str) -> None:
    text = result(summary=summary, message=message, abandonment=gave_up(detail)).to_termination_message()
    read = parse_result(text)
    assert len(text.encode()) <= MAX_MESSAGE_BYTES
    assert summary.startswith(read.summary.removesuffix("…"))
    assert message.startswith(read.message.removesuffix("…"))
    assert read.abandonment
    assert detail.startswith(read.abandonment.detail.removesuffix("…"))

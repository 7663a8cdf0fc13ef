"""A word of an agent arrives whole and once, and the program that says it is called by its plain name."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from bernstein_agent.contract import Abandonment, AbandonReason
from bernstein_agent.mailbox import MAX_DETAIL, MAX_QUESTION, PROGRAM, Letter, Mailbox, Question, leave


@pytest.fixture
def mailbox(tmp_path: Path) -> Mailbox:
    found = Mailbox(tmp_path / "box with a space")
    found.open(("printf", "[%s]", "it's me"))
    return found


def gave_up(detail: str = "") -> Abandonment:
    return Abandonment(reason=AbandonReason.UNSAFE_CHANGE, detail=detail)


def test_nothing_has_arrived_at_first(mailbox: Mailbox) -> None:
    assert mailbox.read() is None


@pytest.mark.parametrize(
    "detail",
    ["", 'one\ntwo: "three"', "the café 🎼", "x" * MAX_DETAIL],
    ids=["empty", "lines and quotes", "beyond ASCII", "as long as can be"],
)
def test_what_is_left_arrives_as_it_is(mailbox: Mailbox, detail: str) -> None:
    assert leave(mailbox.letter, gave_up(detail))
    assert mailbox.read() == gave_up(detail)


@pytest.mark.parametrize("character", ["x", "🎼", "\x01"], ids=["1 byte", "4 bytes", "an escape"])
def test_a_detail_that_is_too_long_is_cut(mailbox: Mailbox, character: str) -> None:
    leave(mailbox.letter, gave_up(character * 100_000))
    assert mailbox.read() == gave_up(character * MAX_DETAIL)


@pytest.mark.parametrize(
    "question",
    ["Which one?", 'one\ntwo: "three"', "🎼?", "x" * MAX_QUESTION],
    ids=["short", "lines and quotes", "beyond ASCII", "as long as can be"],
)
def test_a_question_arrives_as_it_is(mailbox: Mailbox, question: str) -> None:
    assert leave(mailbox.letter, Question(question))
    assert mailbox.read() == Question(question)


def test_a_question_that_is_too_long_is_cut(mailbox: Mailbox) -> None:
    leave(mailbox.letter, Question("🎼" * 100_000))
    assert mailbox.read() == Question("🎼" * MAX_QUESTION)


@pytest.mark.parametrize(
    "words",
    [(Question("which?"), gave_up("none")), (gave_up("none"), Question("which?"))],
    ids=["a question", "giving up"],
)
def test_of_words_of_both_kinds_the_first_counts(mailbox: Mailbox, words: tuple[Letter, Letter]) -> None:
    assert [leave(mailbox.letter, word) for word in words] == [True, False]
    assert mailbox.read() == words[0]


def test_what_is_no_text_is_made_one(mailbox: Mailbox) -> None:
    leave(mailbox.letter, gave_up("a\udcffb"))
    assert mailbox.read() == gave_up("a?b")


def test_the_first_word_counts(mailbox: Mailbox) -> None:
    assert [leave(mailbox.letter, gave_up(word)) for word in ("one", "two")] == [True, False]
    assert mailbox.read() == gave_up("one")
    assert sorted(path.name for path in mailbox.directory.iterdir()) == ["bin", "letter.json"]


def test_of_many_words_at_once_one_counts(mailbox: Mailbox) -> None:
    taken = []
    together = threading.Barrier(8)

    def speak(number: int) -> None:
        together.wait()
        if leave(mailbox.letter, gave_up(str(number))):
            taken.append(gave_up(str(number)))

    speakers = [threading.Thread(target=speak, args=(number,)) for number in range(8)]
    for speaker in speakers:
        speaker.start()
    for speaker in speakers:
        speaker.join()
    assert taken == [mailbox.read()]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"reason": "bored"}',
        '{"reason": 7}',
        '{"reason": "other", "detail": "' + "x" * 70_000,
        '{"question": 7}',
        '{"question": ""}',
    ],
    ids=[
        "empty",
        "cut",
        "a list",
        "a reason of its own",
        "a number",
        "endless",
        "a number for a question",
        "no question",
    ],
)
def test_a_word_that_cannot_be_read_is_a_word_all_the_same(mailbox: Mailbox, text: str) -> None:
    mailbox.letter.write_text(text)
    found = mailbox.read()
    assert isinstance(found, Abandonment)
    assert found.reason is AbandonReason.OTHER
    assert found.detail.startswith("its word can't be read: ")


def test_where_there_is_no_mailbox_nothing_can_be_left(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        leave(tmp_path / "nowhere" / "letter.json", gave_up())


def test_the_program_is_called_by_its_plain_name(mailbox: Mailbox) -> None:
    env = {"PATH": f"{mailbox.programs}{os.pathsep}{os.defpath}"}
    done = subprocess.run(
        [PROGRAM, "abandon", "$HOME and 'more'"], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[it's me][abandon][$HOME and 'more']"

"""The grammar of scripts: what each directive means, in which attempts, and which line is wrong."""

import pytest

from bernstein_agent.script.directives import (
    Abandon,
    Commit,
    Directive,
    Eat,
    Expect,
    Fail,
    Hang,
    Lazy,
    Print,
    RateLimit,
    Say,
    Sleep,
    Spend,
    Write,
)
from bernstein_agent.script.parser import ScriptError, parse_script


def fenced(*lines: str) -> str:
    return "\n".join(("Please:", "```script", *lines, "```", "Thanks."))


DIRECTIVES: dict[str, Directive] = {
    "write src/a.py: x = 1": Write("src/a.py", "x = 1\n"),
    "write empty.txt": Write("empty.txt", ""),
    r"write two.txt: one\ntwo": Write("two.txt", "one\ntwo\n"),
    "append log.txt: again: and again": Write("log.txt", "again: and again\n", append=True),
    "commit Add the parser": Commit("Add the parser"),
    "expect a.py": Expect("a.py", None),
    "expect a.py: x = 1": Expect("a.py", "x = 1\n"),
    "print hello": Print("hello"),
    "say It is done.": Say("It is done."),
    "sleep 0.5": Sleep(0.5),
    "hang": Hang(stubborn=False),
    "hang ignoring SIGTERM": Hang(stubborn=True),
    "fail": Fail(1),
    "fail 3": Fail(3),
    "lazy": Lazy(),
    "abandon out_of_scope": Abandon("out_of_scope", ""),
    "abandon out_of_scope: ask: them": Abandon("out_of_scope", "ask: them"),
    "spend input=1000 output=200 cached=300 usd=0.25 over=5": Spend(1000, 200, 300, 250_000, 5.0),
    "spend usd=1": Spend(0, 0, 0, 1_000_000, 0.0),
    "rate-limit": RateLimit(None),
    "rate-limit 30": RateLimit(30),
    "eat 64": Eat(64),
}


@pytest.mark.parametrize(("line", "directive"), DIRECTIVES.items(), ids=DIRECTIVES)
def test_a_directive(line: str, directive: Directive) -> None:
    (step,) = parse_script(fenced(line))
    assert step.directive == directive


MISTAKES = {
    "wirte a: b": "no such directive",
    "write": "a path inside the current directory",
    "write /etc/passwd: x": "a path inside the current directory",
    "write ../x: y": "a path inside the current directory",
    "commit": "a text is needed",
    "sleep": "is no number of seconds",
    "sleep -1": "is no number of seconds",
    "sleep nan": "is no number of seconds",
    "sleep 99999": "is no number of seconds",
    "hang forever": "only 'ignoring SIGTERM' may follow",
    "fail 0": "to end well, write lazy",
    "fail 256": "is no whole number up to 255",
    "lazy please": "nothing may follow",
    "abandon": "a text is needed",
    "spend": "write some of",
    "spend dollars=1": "write some of",
    "spend usd=nan": "is no amount of dollars",
    "eat much": "is no whole number",
    "on attempt 0: fail": "'0' is no attempt",
    "on attempt 1-2+: fail": "is no attempt",
    "on attempt 1,,2: fail": "'' is no attempt",
}


@pytest.mark.parametrize(("line", "problem"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_line(line: str, problem: str) -> None:
    with pytest.raises(ScriptError) as mistake:
        parse_script(fenced("print fine", "", "# a comment", line))
    assert str(mistake.value).startswith("line 6 of the prompt, ")
    assert problem in str(mistake.value)


@pytest.mark.parametrize(
    ("limit", "attempts"),
    [
        ("on attempt 1: ", {1}),
        ("on attempts 1,3: ", {1, 3}),
        ("on attempts 2-3: ", {2, 3}),
        ("on attempt 2+: ", {2, 3, 4}),
        ("on attempts 1,3+: ", {1, 3, 4}),
        ("", {1, 2, 3, 4}),
    ],
    ids=["one", "two", "range", "from", "mixed", "all"],
)
def test_a_directive_acts_in_its_attempts_only(limit: str, attempts: set[int]) -> None:
    (step,) = parse_script(fenced(f"{limit}fail 3"))
    assert {attempt for attempt in range(1, 5) if step.acts_in(attempt)} == attempts


def test_all_blocks_of_a_prompt_are_one_script() -> None:
    steps = parse_script(fenced("print one") + "\n" + fenced("print two"))
    assert [step.directive for step in steps] == [Print("one"), Print("two")]


@pytest.mark.parametrize(
    "prompt",
    [
        "Do it.",
        "```\nfail\n```",
        "```script\n# nothing\n```",
        "```script\nfail\n",
        "> ```script\n> fail\n> ```",
    ],
    ids=["no block", "another block", "only comments", "never closed", "quoted"],
)
def test_a_prompt_without_a_script(prompt: str) -> None:
    with pytest.raises(ScriptError, match="no block fenced as ```script"):
        parse_script(prompt)

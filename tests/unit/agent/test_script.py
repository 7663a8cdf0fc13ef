"""The grammar of scripts: what each directive means, in which attempts, and which line is wrong."""

import pytest

from bernstein_agent.contract import ResultClass
from bernstein_agent.script.directives import (
    Abandon,
    Ask,
    Call,
    Commit,
    Directive,
    Eat,
    Expect,
    Explain,
    Fail,
    Hang,
    Lazy,
    Print,
    RateLimit,
    Say,
    Sleep,
    Spend,
    Steps,
    Told,
    Write,
)
from bernstein_agent.script.guards import Circumstances
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
    "explain It was so before.": Explain("It was so before."),
    "ask Which database: old or new?": Ask("Which database: old or new?"),
    "steps 3": Steps(3),
    "call Bash": Call("Bash", 1),
    "call mcp.search 12 times": Call("mcp.search", 12),
    "abandon out_of_scope": Abandon("out_of_scope", ""),
    "abandon out_of_scope: ask: them": Abandon("out_of_scope", "ask: them"),
    "abandon out_of_scope ask: them": Abandon("out_of_scope", "ask: them"),
    "fail class=transient": Fail(
        1, Told(ResultClass.TRANSIENT, "NonZeroExit", "the script failed: NonZeroExit")
    ),
    "fail reason=CredentialsRefused": Fail(
        1, Told(ResultClass.CONTRACT, "CredentialsRefused", "the script failed: CredentialsRefused")
    ),
    "fail reason=Strange": Fail(1, Told(ResultClass.AGENT, "Strange", "the script failed: Strange")),
    "fail 3 class=capacity reason=ProviderOverloaded retry-after=30 message=come back: later = 30": Fail(
        3, Told(ResultClass.CAPACITY, "ProviderOverloaded", "come back: later = 30", 30)
    ),
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
    "fail badly": "is no whole number up to 255",
    "fail class=sad": "'sad' is no class of failure",
    "fail class=success": "'success' is no class of failure",
    "fail class=abandoned": "'abandoned' is no class of failure",
    "fail reason=two-words": "is no reason",
    "fail retry-after=soon": "is no whole number",
    "fail retry-after=2592001": "is no whole number up to 2592000",
    "fail because=x": "after the exit code, write some of",
    "when colour=red: fail": "'colour=red' is no condition",
    "when effort=huge: fail": "'huge' is no effort",
    "when model=: fail": "a model without a name",
    "when attempt=0: fail": "'0' is no attempt",
    "when effort=high fail": "no such directive",
    "lazy please": "nothing may follow",
    "explain": "a text is needed",
    "ask": "a text is needed",
    "steps": "is no whole number",
    "steps 100001": "is no whole number up to 100000",
    "call": "write the tool's name",
    "call Bash 0 times": "write the tool's name",
    "call Bash often": "write the tool's name",
    "abandon": "a reason is needed",
    "abandon : why": "a reason is needed",
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
    assert {attempt for attempt in range(1, 5) if step.acts_in(Circumstances(attempt))} == attempts


LOW = Circumstances(1, "small:7b", "low")
HIGH = Circumstances(2, "large", "high")
UNSET = Circumstances(3)


@pytest.mark.parametrize(
    ("guard", "acting"),
    [
        ("when effort=high", {HIGH}),
        ("when effort=low,high", {LOW, HIGH}),
        ("when effort!=high", {LOW, UNSET}),
        ("when model=small:7b", {LOW}),
        ("when model!=small:7b,large", {UNSET}),
        ("when attempt=2", {HIGH}),
        ("when attempt=1,3+", {LOW, UNSET}),
        ("when attempt!=2+", {LOW}),
        ("when attempt=1-2 effort!=low", {HIGH}),
    ],
    ids=[
        "an effort",
        "one of two efforts",
        "any other effort, or none",
        "a model with a colon in its name",
        "none of two models",
        "an attempt",
        "several attempts",
        "no attempt from the second on",
        "two conditions",
    ],
)
def test_a_directive_acts_where_its_conditions_hold(guard: str, acting: set[Circumstances]) -> None:
    (step,) = parse_script(fenced(f"{guard}: say at: last"))
    assert step.directive == Say("at: last")
    assert {here for here in (LOW, HIGH, UNSET) if step.acts_in(here)} == acting


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

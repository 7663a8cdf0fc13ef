"""The events of what people asked for by annotation."""

from collections.abc import Iterable, Iterator

from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.event_reasons import EventReason
from bernstein_operator.api.task_status import Request
from bernstein_operator.builders.events import WARNING, Notice
from bernstein_operator.decisions.abandoning import read_wish
from bernstein_operator.decisions.requests import IGNORED, ONLY_TRUE


def request_notices(requests: Iterable[Request]) -> Iterator[Notice]:
    """Tell what came of what people asked for, where no other event tells it."""
    for one in requests:
        asked = f"{one.actor} asked for {one.verb}={one.value!r}. {one.effect}"
        if one.effect == ONLY_TRUE:
            yield Notice(EventReason.UNKNOWN_ANNOTATION_VALUE, one.time, asked, WARNING, action="Obey")
        elif one.effect.startswith(IGNORED):
            yield Notice(EventReason.CHANGE_IGNORED, one.time, asked, WARNING, action="Obey")
        elif one.verb is CommandVerb.RETRY:
            yield Notice(EventReason.RETRY_REQUESTED, one.time, asked, action="Retry")
        elif one.verb is CommandVerb.ABANDON and not read_wish(one.value).known:
            yield _unknown_reason(one)


def _unknown_reason(asked: Request) -> Notice:
    note = f"{asked.value!r} begins with none of the twelve reasons; it counts as other."
    return Notice(EventReason.UNKNOWN_ABANDON_REASON, asked.time, note, WARNING, action="Abandon")

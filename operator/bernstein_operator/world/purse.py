"""One run's money, kept up to date as each of its tasks changes.

What was spent stays spent: a task that is deleted leaves its spend here, and after a restart what the stored
total has above the sum of the tasks is taken for that of deleted ones. What was in flight then is expected to
be reported again by the attempts that were live, and is kept as well where none of them does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bernstein_operator.api.budget import BudgetStatus
from bernstein_operator.api.choices import ScopeSize
from bernstein_operator.api.spending import Allotment, Sample, Spend
from bernstein_operator.decisions.accounts import Account, promised

_SUMS = (
    *("spent", "estimated", "in_flight", "reserved", "live"),
    *("tokens", "in_flight_tokens", "reserved_tokens"),
)
_KEPT = ("spent", "tokens")
"""Of these nothing may be lost."""


class Purse:
    """Accounts by the task's UID, and the shares of those that were given a slot and haven't begun."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}
        self._shares: dict[str, Allotment] = {}
        self._sums: Counter[str] = Counter()
        self._samples: dict[ScopeSize, Counter[str]] = {}
        self._carried: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._heirs: dict[str, Account] = {}

    @property
    def live(self) -> Iterable[str]:
        """The tasks whose attempts may report at any time."""
        return [uid for uid, account in self._accounts.items() if account.live]

    def put(self, uid: str, account: Account) -> None:
        """Take note of a task's account as it is."""
        self._add(self._accounts.get(uid), -1)
        self._accounts[uid] = account
        self._add(account, 1)
        if not account.live:
            self._found(uid, account)

    def drop(self, uid: str, *, counts: bool) -> None:
        """Take note that a task is gone; what it has spent is carried on if it ``counts``."""
        self.settle(uid)
        account = self._accounts.pop(uid, None)
        self._add(account, -1)
        if not counts:
            self._heirs.pop(uid, None)
        elif account:
            cost, guessed = account.spent + account.untold, account.estimated + account.untold
            self._carried.update({"spent": cost, "tokens": account.tokens, "estimated": guessed})
            # What its attempts cost is still a measure for those to come.
            self._measure(account, 1)
            self._found(uid, replace(account, spent=cost))

    def share(self, uid: str, given: Allotment) -> None:
        """Keep what a task was given together with its slot."""
        self.settle(uid)
        self._shares[uid] = given
        self._add(promised(given), 1)

    def share_of(self, uid: str) -> Allotment | None:
        """Return what a task was given together with its slot."""
        return self._shares.get(uid)

    def settle(self, uid: str) -> None:
        """Take a share back: the task's attempt has it on record now, or its slot was not used."""
        given = self._shares.pop(uid, None)
        if given:
            self._add(promised(given), -1)

    def recall(self, stored: BudgetStatus | None) -> None:
        """Carry what a complete list doesn't account for: tasks that were deleted while nobody looked."""
        if not stored:
            return
        known = {
            "spent": stored.spent_usd.micros - stored.in_flight_usd.micros,
            "tokens": stored.tokens - stored.in_flight_tokens,
            "estimated": stored.estimated_usd.micros,
        }
        least = {"spent": stored.carried_usd.micros, "tokens": stored.carried_tokens}
        told = {
            "spent": self._sums["spent"] - self._sums["in_flight"],
            "tokens": self._sums["tokens"] - self._sums["in_flight_tokens"],
            "estimated": self._sums["estimated"],
        }
        for name, amount in known.items():
            self._carried[name] = max(self._carried[name], least.get(name, 0), amount - told[name])
        totals = {"spent": stored.spent_usd.micros, "tokens": stored.tokens}
        self._expect({name: total - told[name] - self._carried[name] for name, total in totals.items()})

    def spend(self) -> Spend:
        """Return what was spent and what is reserved."""
        sums, carried, missing = self._sums, self._carried, self._missing()
        return Spend(
            spent=sums["spent"] + carried["spent"] + missing["spent"],
            carried=carried["spent"],
            estimated=sums["estimated"] + carried["estimated"],
            in_flight=sums["in_flight"] + missing["spent"],
            reserved=sums["reserved"],
            tokens=sums["tokens"] + carried["tokens"] + missing["tokens"],
            carried_tokens=carried["tokens"],
            in_flight_tokens=sums["in_flight_tokens"] + missing["tokens"],
            reserved_tokens=sums["reserved_tokens"],
            live=sums["live"],
            samples=tuple((scope, Sample(**found)) for scope, found in self._samples.items()),
        )

    def _expect(self, missing: Mapping[str, int]) -> None:
        """Take what tasks don't tell of the stored totals for what live attempts report again."""
        live = ((uid, account) for uid, account in self._accounts.items() if account.live)
        self._heirs = {uid: _as_stored(account) for uid, account in live}
        self._lost = +Counter(missing)
        self._give_up()

    def _missing(self) -> Counter[str]:
        """Return what live attempts had reported before the restart and haven't again."""
        missing = Counter(self._lost)
        for uid, then in self._heirs.items():
            missing.subtract(_risen(then, self._accounts[uid]))
        return +missing

    def _found(self, uid: str, account: Account) -> None:
        """Take note of what an attempt came to that was live at the restart; nothing more is heard of it."""
        then = self._heirs.pop(uid, None)
        if then:
            self._lost = +(self._lost - _risen(then, account))
            self._give_up()

    def _give_up(self) -> None:
        """Carry what nobody is left to report again."""
        if not self._heirs:
            self._carried.update(self._lost)
            self._lost.clear()

    def _add(self, account: Account | None, sign: int) -> None:
        if not account:
            return
        for name in _SUMS:
            self._sums[name] += sign * getattr(account, name)
        self._measure(account, sign)

    def _measure(self, account: Account, sign: int) -> None:
        found = self._samples.setdefault(account.scope, Counter())
        sample = account.sample
        for name, amount in (("count", sample.count), ("micros", sample.micros), ("tokens", sample.tokens)):
            found[name] += sign * amount


def _as_stored(account: Account) -> Account:
    spent, tokens = account.spent - account.in_flight, account.tokens - account.in_flight_tokens
    return replace(account, spent=spent, tokens=tokens)


def _risen(then: Account, now: Account) -> Counter[str]:
    return Counter({name: getattr(now, name) - getattr(then, name) for name in _KEPT})

"""What a run says, and is told, of its limits: how many agents may be live, and what they may cost."""

from typing import Final

from tests.integration.crds.ranges import (
    AGENTS,
    BAND_PERCENT,
    BOOLEAN,
    COUNTER,
    DNS_LABEL,
    MOMENT,
    MONEY,
    PERCENT,
    SPAN,
    TEXT_1024,
    TOKENS,
    WAIT,
    WORD,
    Bounds,
)

_LIMITED: Final = [{"role": f"r{n}", "max": 1} for n in range(65)]
_REACHED: Final = [{"band": one, "time": "2026-01-01T12:00:00Z"} for one in ("warn", "critical", "stop")]
_BUDGET: Final = "status.budget"
_BAND: Final = Bounds(("none", "warn", "critical", "stop"), ("Warn", "over", ""))


def run_budget() -> dict[str, Bounds]:
    """Return what a run says, and is told, of what it costs."""
    return {
        "spec.budget.usd": MONEY,
        "spec.budget.tokens": TOKENS,
        "spec.budget.warnPercent": BAND_PERCENT,
        "spec.budget.criticalPercent": Bounds((50, 95, 100), (0, 101, 1.5)),
        "spec.budget.stopGraceSeconds": WAIT,
        "spec.budget.estimatePerAttemptUsd": MONEY,
        **{
            f"{_BUDGET}.{name}": MONEY
            for name in (
                "capUsd",
                "spentUsd",
                "carriedUsd",
                "estimatedUsd",
                "inFlightUsd",
                "reservedUsd",
                "remainingUsd",
            )
        },
        f"{_BUDGET}.source": Bounds(
            (
                "BERNSTEIN_MAX_COST_USD",
                "run_config.json",
                "spec",
                "bernstein.yaml",
                "default",
                "maxRunCostUsd",
                "unlimited",
            ),
            ("Spec", ""),
        ),
        **{
            f"{_BUDGET}.{name}": TOKENS for name in ("capTokens", "tokens", "carriedTokens", "inFlightTokens")
        },
        f"{_BUDGET}.percent": COUNTER,
        f"{_BUDGET}.limiting": Bounds(("usd", "tokens"), ("USD", "")),
        f"{_BUDGET}.band": _BAND,
        f"{_BUDGET}.shouldStop": BOOLEAN,
        f"{_BUDGET}.stopTime": MOMENT,
        f"{_BUDGET}.reached": Bounds(([], _REACHED), ([*_REACHED, _REACHED[0]], {})),
        f"{_BUDGET}.reached[0].band": _BAND,
        f"{_BUDGET}.reached[0].time": MOMENT,
        f"{_BUDGET}.overriddenTime": MOMENT,
        f"{_BUDGET}.rearmedTime": MOMENT,
    }


def run_concurrency() -> dict[str, Bounds]:
    """Return what a run says, and is told, of how many agents may be live."""
    spec, told = "spec.concurrency", "status.concurrency"
    return {
        f"{spec}.maxAgents": AGENTS,
        f"{spec}.adaptive.enabled": BOOLEAN,
        f"{spec}.adaptive.errorRateHighPercent": Bounds((10, 20, 100), (-1, 101, 2.5)),
        f"{spec}.adaptive.errorRateLowPercent": Bounds((0, 5, 30), (-1, 101, "5")),
        f"{spec}.adaptive.windowSeconds": SPAN,
        f"{spec}.adaptive.raiseAfterSeconds": SPAN,
        f"{spec}.adaptive.minimumSamples": Bounds((1, 1000), (0, 1001)),
        f"{spec}.pause.nodeCpuPercent": Bounds((1, 100), (0, 101)),
        f"{spec}.pause.nodeLoadPercent": Bounds((1, 100_000), (0, 100_001)),
        f"{spec}.pause.resumeMarginPercent": PERCENT,
        f"{spec}.pause.samples": Bounds((1, 100), (0, 101)),
        f"{spec}.maxPerRole": Bounds(
            ([], _LIMITED[:64]), (_LIMITED, [_LIMITED[0], _LIMITED[0]], [{"role": "qa"}], {})
        ),
        f"{spec}.maxPerRole[0].role": DNS_LABEL,
        f"{spec}.maxPerRole[0].max": AGENTS,
        **{f"{told}.{name}": AGENTS for name in ("configured", "effective", "reduction", "heldBeforePause")},
        f"{told}.live": COUNTER,
        f"{told}.reason": WORD,
        f"{told}.message": TEXT_1024,
        **{
            f"{told}.{name}": MOMENT
            for name in ("lastLoweredTime", "lastRaisedTime", "lowErrorSince", "pausedSince", "resumedTime")
        },
    }

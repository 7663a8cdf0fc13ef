"""Amounts of memory as Kubernetes writes them, and how they grow after a kill."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bernstein_operator.api.profile import AgentProfileSpec, MemoryGrowth, Resources
from bernstein_operator.decisions.memory import (
    LARGEST,
    as_quantity,
    grown,
    in_bytes,
    memory_limit,
    raised,
)

MI, GI = 2**20, 2**30


@pytest.mark.parametrize(
    ("quantity", "amount"),
    [
        ("0", 0),
        ("1", 1),
        ("128974848", 128_974_848),
        ("129e6", 129_000_000),
        ("129E6", 129_000_000),
        ("1e-3", 1),
        ("129M", 129_000_000),
        ("123Mi", 123 * MI),
        ("1Gi", GI),
        ("1.5Gi", GI + GI // 2),
        ("1.", 1),
        (".5Ki", 512),
        ("1k", 1000),
        ("1Ei", 2**60),
        ("1000m", 1),
        ("1001m", 2),
        ("1u", 1),
        ("1n", 1),
        ("8Ei", LARGEST),
        ("9223372036854775807", LARGEST),
        ("1e999999999999999999999", LARGEST),
        ("1e-999999999999999999999", 1),
        ("0e999999999999", 0),
    ],
)
def test_a_quantity_is_so_many_bytes(quantity: str, amount: int) -> None:
    assert in_bytes(quantity) == amount


@pytest.mark.parametrize("text", ["", "Gi", "-1", "1GiB", "1 Gi"])
def test_what_is_no_quantity_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        in_bytes(text)


@pytest.mark.parametrize(
    ("amount", "quantity"),
    [
        (0, "0"),
        (1, "1"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1000, "1k"),
        (1536 * MI, "1536Mi"),
        (2 * GI, "2Gi"),
        (1_500_000_000, "1500M"),
        (LARGEST, str(LARGEST)),
    ],
)
def test_bytes_are_written_in_the_largest_unit_that_is_exact(amount: int, quantity: str) -> None:
    assert as_quantity(amount) == quantity


@given(st.integers(0, LARGEST))
def test_what_is_written_reads_back(amount: int) -> None:
    assert in_bytes(as_quantity(amount)) == amount


@pytest.mark.parametrize(
    ("limit", "percent", "most", "after"),
    [
        pytest.param("1Gi", 150, "4Gi", "1536Mi", id="half as much again"),
        pytest.param("1Gi", 133, "4Gi", "1428076626", id="up to the next whole byte"),
        pytest.param("1", 101, "4Gi", "2", id="a byte at least"),
        pytest.param("1G", 150, "4G", "1500M", id="in powers of ten"),
        pytest.param("2Gi", 200, "4Gi", "4Gi", id="the maximum, exactly"),
        pytest.param("3Gi", 150, "4Gi", "4Gi", id="no more than the maximum"),
        pytest.param("4Gi", 150, "4Gi", "4Gi", id="at the maximum already"),
        pytest.param("4Gi", 150, "4294967297", "4294967297", id="a byte below the maximum"),
        pytest.param("8Gi", 150, "4Gi", "8Gi", id="never less than before"),
    ],
)
def test_memory_grows_by_percents_up_to_its_maximum(limit: str, percent: int, most: str, after: str) -> None:
    assert grown(limit, MemoryGrowth(percent=percent, max=most)) == after


@pytest.mark.parametrize(
    ("resources", "limit"),
    [
        pytest.param({}, "1Gi", id="the default"),
        pytest.param({"limits": {"memory": "3Gi"}, "requests": {"memory": "2Gi"}}, "3Gi", id="the limit"),
        pytest.param({"requests": {"memory": "2Gi"}}, "2Gi", id="a request without a limit"),
        pytest.param({"limits": {"cpu": "1"}}, "1Gi", id="a limit of something else"),
    ],
)
def test_the_limit_of_a_profile(resources: dict[str, dict[str, str]], limit: str) -> None:
    assert memory_limit(Resources.model_validate(resources)) == limit


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        pytest.param(None, None, id="never raised"),
        pytest.param("1536Mi", "1536Mi", id="above the profile's"),
        pytest.param("1024Mi", None, id="the profile's in other words"),
        pytest.param("1Mi", None, id="the profile has been raised meanwhile"),
    ],
)
def test_a_limit_is_the_attempts_own_only_above_the_profiles(limit: str | None, said: str | None) -> None:
    assert raised(limit, AgentProfileSpec.model_validate({"adapter": "script"})) == said

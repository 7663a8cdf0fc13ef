"""Where the operator is, as far as its surroundings say it."""

from pathlib import Path

import pytest

from bernstein_operator.kube.connection import own_namespace


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        pytest.param("system\n", "system", id="in a Pod"),
        pytest.param(None, "default", id="outside of one"),
        pytest.param("", "default", id="nothing is said"),
    ],
)
def test_the_namespace_is_the_service_accounts(tmp_path: Path, text: str | None, namespace: str) -> None:
    account = tmp_path / "namespace"
    if text is not None:
        account.write_text(text)
    assert own_namespace(account) == namespace

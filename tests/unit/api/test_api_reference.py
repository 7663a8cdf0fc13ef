"""The API reference is made from the CRDs; the committed page is the one that they make."""

from docs.api_reference import PAGE, page
from tests.support.crd_fields import definitions, nodes, rules


def test_the_committed_page_is_what_the_crds_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make crds`"


def test_the_page_names_every_field_and_every_refusal() -> None:
    text = page()
    for definition in definitions():
        for node in nodes(definition):
            field = node.path.partition(".")[2]
            assert not field or field.endswith("[]") or f"| `{field}` |" in text
    assert all(rule["message"] in text for _, rule in rules())

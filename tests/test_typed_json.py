"""Records to JSON and back: each kind of field, and where a wrong one is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedbench.typed_json import INLINED, from_json, named, to_json


@dataclass(frozen=True)
class Size:
    width: int
    height: float | None


@dataclass(frozen=True)
class Crate:
    source: str = field(metadata=named("from"))
    size: Size = field(metadata=INLINED)
    lid: Size | None
    colour: Literal["red", "blue"]
    labels: Mapping[str, tuple[str, ...]]
    corner: tuple[int, float]
    value: str | int | bool
    fragile: bool = False


CRATE = Crate("Bergen", Size(3, 1.5), Size(3, None), "red", {"a": ("b", "c")}, (1, 2.5), "heavy", True)
DOCUMENT: dict[str, Any] = {
    "from": "Bergen",
    "width": 3,
    "height": 1.5,
    "lid": {"width": 3, "height": None},
    "colour": "red",
    "labels": {"a": ["b", "c"]},
    "corner": [1, 2.5],
    "value": "heavy",
    "fragile": True,
}


def test_a_record_keeps_its_fields_and_their_order() -> None:
    assert json.dumps(to_json(CRATE)) == json.dumps(DOCUMENT)
    assert from_json(Crate, DOCUMENT) == CRATE


sizes = st.builds(Size, st.integers(), st.none() | st.floats(allow_nan=False))
crates = st.builds(
    Crate,
    st.text(),
    sizes,
    st.none() | sizes,
    st.sampled_from(["red", "blue"]),
    st.dictionaries(st.text(), st.lists(st.text()).map(tuple)),
    st.tuples(st.integers(), st.floats(allow_nan=False)),
    st.text() | st.integers() | st.booleans(),
    st.booleans(),
)


@given(crates)
def test_what_is_written_is_read_as_it_was(crate: Crate) -> None:
    assert from_json(Crate, json.loads(json.dumps(to_json(crate)))) == crate


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"from": 3}, "`from` is 3, not a text"),
        ({"width": True}, "`width` is True, not a whole number"),
        ({"width": 1.5}, "`width` is 1.5, not a whole number"),
        ({"height": "1"}, "`height` is '1', not a number"),
        ({"lid": {"width": 3}}, "`lid.height` is missing"),
        ({"lid": []}, "`lid` is [], not an object"),
        ({"colour": "green"}, "`colour` is 'green', not red or blue"),
        ({"labels": {"a": ["b", None]}}, "`labels.a[1]` is None, not a text"),
        ({"corner": [1]}, "`corner` is [1], not a list of 2"),
        ({"corner": 1}, "`corner` is 1, not a list"),
        ({"value": None}, "`value` is None, not a text or a whole number or true or false"),
        ({"fragile": 0}, "`fragile` is 0, not true or false"),
    ],
)
def test_what_is_something_else_is_named_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole message is compared)
        from_json(Crate, DOCUMENT | change)
    assert str(caught.value) == message


def test_a_field_of_an_inlined_record_is_missed_where_it_belongs() -> None:
    document = {key: value for key, value in DOCUMENT.items() if key != "width"}
    with pytest.raises(ValueError, match=r"^`crates.width` is missing$"):
        from_json(Crate, document, "crates")


@pytest.mark.parametrize("document", [None, [], "text", 3])
def test_a_whole_document_of_another_kind_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match=r"^the document is .*, not an object$"):
        from_json(Crate, document)


def test_a_default_may_be_left_out_and_an_unknown_key_is_passed_over() -> None:
    document = {key: value for key, value in DOCUMENT.items() if key != "fragile"}
    assert not from_json(Crate, document | {"smell": "salt"}).fragile

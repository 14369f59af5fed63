"""Frozen dataclasses as JSON and back: one declaration gives the file's form, its writer and its reader.

A field stands in the file under its own name, or under another one (`field(metadata=named("from"))`), or, if
it is a record itself, its fields stand in the place of it (`field(metadata=INLINED)`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

INLINED: Mapping[str, Any] = {"inlined": True}

_WORDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}

T = TypeVar("T")


def named(name: str) -> Mapping[str, Any]:
    """The metadata of a field that has another name in the file, such as one of Python's own words."""
    return {"name": name}


def to_json(value: Any) -> Any:
    """Records as objects, in the order of their fields; sequences as lists; everything else as it is."""
    if is_dataclass(value):
        document: dict[str, Any] = {}
        for each in fields(value):
            inner = to_json(getattr(value, each.name))
            document.update(inner if _inlined(each) else {_name(each): inner})
        return document
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def from_json(kind: type[T], document: Any, place: str = "") -> T:
    """`document` as a `kind`; ValueError with the place of the first value that is missing or something else.

    Unknown keys are passed over: a file may hold more than this version knows.
    """
    value: T = _typed(kind, document, place)
    return value


def _typed(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        return _either(arguments, value, place)
    if origin is Literal:
        return _checked(value in arguments, value, place, " or ".join(map(str, arguments)))
    if is_dataclass(kind):
        return _record(kind, value, place)
    if origin is tuple:
        return _sequence(arguments, value, place)
    if origin is Mapping:
        _checked(isinstance(value, dict), value, place, "an object")
        return {key: _typed(arguments[1], item, f"{place}.{key}") for key, item in value.items()}
    return _checked(_is(kind, value), value, place, _WORDS[kind])


def _either(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    """One kind or nothing, or one of several kinds of plain values."""
    if value is None and NoneType in kinds:
        return None
    others = [kind for kind in kinds if kind is not NoneType]
    if len(others) == 1:
        return _typed(others[0], value, place)
    right = any(_is(kind, value) for kind in others)
    return _checked(right, value, place, " or ".join(_WORDS[kind] for kind in others))


def _is(kind: Any, value: Any) -> bool:
    """Whole numbers are numbers too; Python's booleans are no numbers here."""
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


@cache
def _declared(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    """Every field of a record with its type."""
    hints = get_type_hints(kind)
    return tuple((each, hints[each.name]) for each in fields(kind))


def _record(kind: Any, value: Any, place: str) -> Any:
    _checked(isinstance(value, dict), value, place, "an object")
    given = {}
    for each, hint in _declared(kind):
        name = _name(each)
        inner = f"{place}.{name}" if place else name
        if _inlined(each):
            given[each.name] = _typed(hint, value, place)
        elif name in value:
            given[each.name] = _typed(hint, value[name], inner)
        elif each.default is MISSING and each.default_factory is MISSING:
            raise ValueError(f"`{inner}` is missing")
    return kind(**given)


def _sequence(arguments: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    _checked(isinstance(value, list), value, place, "a list")
    if arguments[-1] is Ellipsis:
        kinds: tuple[Any, ...] = (arguments[0],) * len(value)
    else:
        _checked(len(value) == len(arguments), value, place, f"a list of {len(arguments)}")
        kinds = arguments
    pairs = enumerate(zip(kinds, value, strict=True))
    return tuple(_typed(kind, item, f"{place}[{index}]") for index, (kind, item) in pairs)


def _name(each: Field[Any]) -> str:
    name: str = each.metadata.get("name", each.name)
    return name


def _inlined(each: Field[Any]) -> bool:
    return bool(each.metadata.get("inlined"))


def _checked(right: bool, value: Any, place: str, wanted: str) -> Any:
    if not right:
        subject = f"`{place}`" if place else "the document"
        raise ValueError(f"{subject} is {value!r:.60}, not {wanted}")
    return value

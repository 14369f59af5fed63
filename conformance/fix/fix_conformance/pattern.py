"""What an expected message must look like: its fields in order, with groups as often as their counts say.

A value is literal, or one of
  `@`  a UTC timestamp with the door's decimals      `#`  a whole number without sign
  `.`  a decimal number                              `*`  anything but nothing
  `~…~`  what this regular expression matches
A group stands in parentheses, without a space, behind the field that counts it: `268=#(269=0|270=.|271=.)`. A
field with a question mark behind its tag may be missing: `271?=.`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fix_conformance.errors import CheckError, DefinitionError
from fix_conformance.wire import Field

NUMBER = r"\d+"
DECIMAL = r"-?\d+(\.\d+)?"
TIME = {0: r"\d{8}-\d\d:\d\d:\d\d", 3: r"\d{8}-\d\d:\d\d:\d\d\.\d{3}", 6: r"\d{8}-\d\d:\d\d:\d\d\.\d{6}"}
TOKEN = re.compile(r"(?P<tag>\d+)(?P<optional>\?)?=(?P<value>~[^~]*~|(?: \([^|()]*\)|[^|()])*)")


@dataclass(frozen=True)
class Expected:
    """One field, and the group that it counts."""

    tag: int
    value: str
    """As it is written in the definition."""
    optional: bool = False
    members: tuple[Expected, ...] = field(default=())

    def matches(self, value: str, precision: int) -> bool:
        """Whether a value is what is expected."""
        match self.value:
            case "@":
                pattern = TIME[precision]
            case "#":
                pattern = NUMBER
            case ".":
                pattern = DECIMAL
            case "*":
                pattern = r"(?s:.+)"
            case regular if regular.startswith("~"):
                pattern = regular[1:-1]
            case literal:
                return value == literal
        return re.fullmatch(pattern, value) is not None


def parse(text: str) -> tuple[Expected, ...]:
    """Reads fields that are separated by bars; DefinitionError says where it cannot."""
    expected, rest = _parse(text.strip())
    if rest:
        raise DefinitionError(f"{rest!r} cannot be understood in {text!r}")
    return expected


def _parse(text: str) -> tuple[tuple[Expected, ...], str]:
    expected: list[Expected] = []
    while text and not text.startswith(")"):
        token = TOKEN.match(text)
        if token is None:
            raise DefinitionError(f"{text!r} does not begin with a field")
        text = text[token.end() :]
        members: tuple[Expected, ...] = ()
        if text.startswith("("):
            members, text = _parse(text[1:])
            if not text.startswith(")"):
                raise DefinitionError(f"a group is not closed before {text!r}")
            text = text[1:]
        optional = token["optional"] is not None
        expected.append(Expected(int(token["tag"]), token["value"], optional, members))
        text = text.removeprefix("|")
    return tuple(expected), text


def check(expected: Sequence[Expected], fields: Sequence[Field], precision: int) -> None:
    """CheckError unless these are the fields, no more, no fewer, in this order."""
    rest = _consume(expected, list(fields), precision)
    if rest:
        raise CheckError(f"{rest[0][0]}={rest[0][1]} comes where nothing should")


def _consume(expected: Sequence[Expected], fields: list[Field], precision: int) -> list[Field]:
    for one in expected:
        if not fields or fields[0][0] != one.tag:
            if one.optional:
                continue
            found = f"{fields[0][0]}={fields[0][1]}" if fields else "nothing"
            raise CheckError(f"{one.tag}={one.value} is expected, but {found} comes")
        tag, value = fields.pop(0)
        if not one.matches(value, precision):
            raise CheckError(f"{tag}={value} is not {one.value!r}")
        if one.members:
            for _ in range(int(value)):
                fields = _consume(one.members, fields, precision)
    return fields


def tags(expected: Sequence[Expected]) -> Iterator[int]:
    """Of the fields outside of groups."""
    return (one.tag for one in expected)

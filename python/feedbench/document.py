"""A TOML file that people write by hand: parsed, checked against its schema, every complaint with its line.

tomllib keeps no positions, so `toml_lines.locate` finds the line of each key by itself.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError

from feedbench.errors import FeedbenchError
from feedbench.suggest import nearest
from feedbench.toml_lines import KeyPath, line_of, locate

SPEC = Path(__file__).resolve().parents[2] / "spec"


@dataclass(frozen=True)
class Problem:
    """What is wrong at `path`, and what to try."""

    path: KeyPath
    what: str
    hint: str | None = None


@dataclass(frozen=True)
class TomlDocument:
    """The content, the line of each key, and the kind of error that complaints are raised as."""

    path: Path
    content: dict[str, Any]
    lines: dict[KeyPath, int]
    error: type[FeedbenchError]

    @classmethod
    def read(cls, path: Path, *, error: type[FeedbenchError]) -> TomlDocument:
        """Raises `error` when the file cannot be read, is not UTF-8, or is not TOML."""
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as cause:
            raise error(f"cannot read it: {cause.strerror}", where=str(path)) from cause
        except UnicodeDecodeError as cause:
            raise error("it is not UTF-8 text", where=str(path), hint="save it as UTF-8") from cause
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as cause:
            line, what = _syntax_error(str(cause), text)
            raise error(what, where=f"{path}:{line}", hint="TOML syntax, see toml.io") from cause
        return cls(path=path, content=content, lines=locate(text), error=error)

    def check(self, schema: str) -> None:
        """Against spec/<schema>.schema.json; fills its defaults in, or raises the first complaint by line."""
        validator = _validator(schema)
        self.refuse(_problem(complaint) for complaint in validator.iter_errors(self.content))
        fill_defaults(self.content, validator.schema)

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Raises the problem that stands first in the file; nothing when there is none."""
        first = min(problems, key=lambda problem: self.line(problem.path), default=None)
        if first is not None:
            raise self.error(first.what, where=f"{self.path}:{self.line(first.path)}", hint=first.hint)

    def line(self, path: KeyPath) -> int:
        return line_of(path, self.lines)


@cache
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        json.loads((SPEC / f"{schema}.schema.json").read_text(encoding="utf-8"))
    )


def value_problems(schema: str, key: tuple[str, str], value: Any, *, path: KeyPath) -> list[Problem]:
    """What the schema has against `value` as the value of `key`, told of `path`, where it stands instead."""
    validator = _validator(schema)
    schema_document: Any = validator.schema
    part = schema_document["properties"][key[0]]["properties"][key[1]]
    complaints = validator.evolve(schema=part).iter_errors(value)
    return [replace(problem, path=path) for problem in map(partial(_problem, name=key[1]), complaints)]


def fill_defaults(content: dict[str, Any], schema: Any) -> None:
    """Adds the `default` of each property that is absent, table by table."""
    for name, part in schema.get("properties", {}).items():
        if "default" in part:
            content.setdefault(name, json.loads(json.dumps(part["default"])))
        if isinstance(content.get(name), dict):
            fill_defaults(content[name], part)


def _syntax_error(message: str, text: str) -> tuple[int, str]:
    """tomllib ends its messages with the place: `… (at line 3, column 5)` or `(at end of document)`."""
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if place is None:
        return 1, message
    line = int(place[1]) if place[1] else max(1, len(text.splitlines()))
    return line, message[: place.start()]


def _problem(error: ValidationError, *, name: str | None = None) -> Problem:
    """A schema's complaint in the words of somebody who wants to mend it."""
    path = tuple(error.absolute_path)
    schema: Any = error.schema
    wanted: Any = error.validator_value
    instance: Any = error.instance
    if error.validator == "additionalProperties":
        return _unknown_key(path, instance, known=schema["properties"])
    if error.validator == "required":
        missing = next(key for key in wanted if key not in instance)
        table = f" in [{_spoken(path)}]" if path else ""
        return Problem(path, f'the key "{missing}" is missing{table}', "spec/README.md explains it")
    expected = f"not {schema['title']}" if "title" in schema else _expected(str(error.validator), wanted)
    return Problem(path, f"{name or _spoken(path)} = {_toml(instance)}: {expected}", _example(schema))


def _spoken(path: KeyPath) -> str:
    """`("needs", 0, "tool")` → `needs[0].tool`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the file"


def _unknown_key(path: KeyPath, table_content: Iterable[str], *, known: Iterable[str]) -> Problem:
    unknown = next(key for key in table_content if key not in known)
    table = f" in [{_spoken(path)}]" if path else ""
    return Problem((*path, unknown), f'unknown key "{unknown}"{table}', nearest(unknown, known))


def _expected(check: str, value: Any) -> str:
    """What a check of JSON Schema wants, in words."""
    match check:
        case "type":
            return "not " + " or ".join(
                _TYPES[kind] for kind in ([value] if isinstance(value, str) else value)
            )
        case "enum":
            return "not one of " + ", ".join(_toml(entry) for entry in value)
        case "const":
            return f"only {_toml(value)} is known"
        case "minimum":
            return f"must be {value} or more"
        case "exclusiveMinimum":
            return f"must be more than {value}"
        case "maximum":
            return f"must be {value} or less"
        case "exclusiveMaximum":
            return f"must be less than {value}"
        case "minItems" | "minLength" | "minProperties":
            return "must not be empty"
        case "uniqueItems":
            return "names something twice"
    return f"against the schema's {check} = {_toml(value)}"


def _example(schema: Mapping[str, Any]) -> str | None:
    if "examples" not in schema:
        return None
    return "for example " + " or ".join(_toml(example) for example in schema["examples"])


_TYPES = {
    "string": "a text in quotes",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
}


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

"""Which line each key of a TOML file stands on.

Only for text that tomllib has accepted: this scanner finds keys, and leaves judging to the parser.
The entries of a list have their own lines; keys inside an inline table share the line of its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

KeyPath = tuple[str | int, ...]

# A quoted text of each of TOML's four kinds (long ones first), a comment, a sign, or anything else but space.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|'
    r"'''.*?'{3,5}|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|"
    r"#[^\n]*|"
    r"[\[\]{},\n]|"
    r"[^\s\[\]{},#\"']+",
    re.DOTALL,
)
_HEADER = re.compile(r"\s*(\[\[?)(.*?)\]\]?\s*(?:#.*)?$")
_KEY_PART = re.compile(r"""\s*(?:"((?:\\.|[^"\\])*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(\.?)""")


def locate(text: str) -> dict[KeyPath, int]:
    """Path of each key and table → line, counted from 1. Entries of arrays of tables carry their index."""
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, statement in _statements(text):
        header = _HEADER.match(statement)
        if header is not None:
            table = _inside(_dotted(header[2]), counts)
            if header[1] == "[[":
                index = counts.get(table, 0)
                counts[table] = index + 1
                table = (*table, index)
        path = table if header is not None else (*table, *_dotted(statement))
        for depth in range(1, len(path) + 1):
            lines.setdefault(path[:depth], number)
        if header is None:
            for index, offset in enumerate(_entries(statement)):
                lines[(*path, index)] = number + offset
    return lines


def line_of(path: KeyPath, lines: dict[KeyPath, int]) -> int:
    """The line of `path`, or of the nearest thing around it; 1 when all of the file is meant."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return 1


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each table header, and each key with its value, however many lines long, with its first line."""
    begin, depth = 0, 0
    for token in _TOKEN.finditer(text + "\n"):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if token[0] != "\n" or depth > 0:
            continue
        statement = text[begin : token.start()]
        if statement.strip() and not statement.lstrip().startswith("#"):
            yield text.count("\n", 0, begin) + 1, statement
        begin = token.end()


def _entries(statement: str) -> Iterator[int]:
    """How many lines below the statement's first each entry of its list begins; nothing for other values."""
    depth, line, awaited = 0, 0, False
    for token in _TOKEN.finditer(statement):
        sign = token[0]
        if sign == "\n":
            line += 1
        elif depth == 0:
            if sign == "{":
                return
            depth = 1 if sign == "[" else 0
            awaited = depth == 1
        elif depth == 1 and sign == ",":
            awaited = True
        elif not sign.startswith("#"):
            if awaited and depth == 1 and sign != "]":
                yield line
                awaited = False
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(sign, 0)
            line += sign.count("\n")


def _inside(path: KeyPath, counts: dict[KeyPath, int]) -> KeyPath:
    """A sub-table of an array of tables belongs to its latest entry."""
    full: KeyPath = ()
    for position, part in enumerate(path):
        full = (*full, part)
        if position < len(path) - 1 and full in counts:
            full = (*full, counts[full] - 1)
    return full


def _dotted(text: str) -> KeyPath:
    """`a."b c".d = 1` → ("a", "b c", "d"); what follows the key does not matter."""
    parts: list[str] = []
    position = 0
    while (match := _KEY_PART.match(text, position)) is not None:
        parts.append(next(group for group in match.groups()[:3] if group is not None))
        position = match.end()
        if not match[4]:
            break
    return tuple(parts)

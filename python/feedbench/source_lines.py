"""How many lines of code a target's author wrote: neither blank nor only comment, by Pygments' lexers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment, String, Whitespace, is_token_subtype
from pygments.util import ClassNotFound

# Programs, not what describes their building: manifests, lock files, makefiles.
SUFFIXES = {
    ".c", ".cc", ".cjs", ".cpp", ".cs", ".go", ".h", ".hpp", ".hs", ".java", ".js", ".kt", ".mjs", ".php",
    ".pl", ".pm", ".py", ".pyx", ".rb", ".rs", ".swift", ".ts",
}  # fmt: skip


def source_lines(files: Iterable[Path]) -> int:
    """Over all files that hold a program's text; others count nothing."""
    return sum(_lines(file) for file in files if file.suffix in SUFFIXES)


def _lines(file: Path) -> int:
    try:
        lexer: Lexer = get_lexer_for_filename(file.name, stripnl=False)
    except ClassNotFound:
        return 0
    text = file.read_text(encoding="utf-8", errors="replace")
    number, with_code = 1, set()
    for kind, piece in lexer.get_tokens(text):
        # A preprocessor's line is a comment to some lexers, and code to a compiler.
        preprocessor = is_token_subtype(kind, Comment.Preproc) or is_token_subtype(kind, Comment.PreprocFile)
        is_code = preprocessor or not any(
            is_token_subtype(kind, one) for one in (Comment, String.Doc, Whitespace)
        )
        for index, part in enumerate(piece.split("\n")):
            if is_code and part.strip():
                with_code.add(number + index)
        number += piece.count("\n")
    return len(with_code)

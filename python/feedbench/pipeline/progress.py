"""How far a stage is: whoever shows it gives a function that opens one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Progress = Callable[[int], None]  # messages more that are done

# Opens a stage that will do so many messages, unknown when None.
Stage = Callable[[str, int | None], AbstractContextManager[Progress]]

# Is told what a reader should know meanwhile, a line at a time.
Say = Callable[[str], None]


def quiet(_: str, __: int | None) -> AbstractContextManager[Progress]:
    return nullcontext(lambda _: None)


def silent(_: str) -> None:
    return None

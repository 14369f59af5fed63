"""Commands that are the engine's: this process becomes it, so that signals, output and exit status are its
own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from feedbench.errors import EngineError
from feedbench.paths import Project


def become_engine(command: str, arguments: Sequence[str]) -> NoReturn:
    """Replaces this process; EngineError when there is no engine to become."""
    engine = Project.find().engine
    try:
        os.execv(engine, [str(engine), command, *arguments])
    except OSError as error:
        raise EngineError(
            f"the engine could not be started: {error.strerror}", where=str(engine), hint="try: make setup"
        ) from error

"""A simulated exchange for a test."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.collectors.venue import Venue, venue


@dataclass(frozen=True)
class Exchange:
    """A running one; `stop` gives its last line."""

    process: subprocess.Popen[str]
    beginning: dict[str, Any]

    def venue(self, name: str, *, tls: bool = False) -> Venue:
        urls = self.beginning["urls"][name]
        if tls:
            return venue(name).at(rest_url=urls["rest_tls"], websocket_url=urls["wss"])
        return venue(name).at(rest_url=urls["rest"], websocket_url=urls["ws"])

    @property
    def authority_file(self) -> Path:
        return Path(self.beginning["ca"])

    def stop(self) -> dict[str, Any]:
        self.process.terminate()
        rest, _ = self.process.communicate(timeout=30)
        end: dict[str, Any] = json.loads(rest.splitlines()[-1])
        return end


StartExchange = Callable[..., Exchange]


@contextmanager
def running(binary: Path, folder: Path, arguments: tuple[str, ...]) -> Iterator[Exchange]:
    command = [str(binary), "--json", "--symbols", "1", "--certificates", str(folder / "ca"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield Exchange(process, json.loads(process.stdout.readline()))
        finally:
            process.kill()

"""The fixture that makes a laboratory of fakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from laboratory import FAKE_ENGINE, Laboratory, MakeLaboratory, make_laboratory


@pytest.fixture
def laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeLaboratory:
    """Makes a laboratory; `knobs` makes the fake target misbehave, `engine` the fake engine."""

    def make(*, engine: str = "", **options: Any) -> Laboratory:
        monkeypatch.setenv("FEEDBENCH_ENGINE", str(FAKE_ENGINE))
        monkeypatch.setenv("FAKE_ENGINE", engine)
        return make_laboratory(tmp_path, **options)

    return make

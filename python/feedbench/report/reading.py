"""Temporary thin reader."""
from __future__ import annotations
import json
from typing import Any

class Record(dict):  # type: ignore[type-arg]
    def __getattribute__(self, name: str) -> Any:
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        return dict.__getattribute__(self, name)

Question = Ranked = Cell = Findings = Decision = Advice = Any

def read_findings(path: Any) -> Any:
    return json.loads(path.read_text(), object_hook=Record)

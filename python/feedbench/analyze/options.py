"""The options in force, and where compared targets differ in them.

What the wire showed beats what a knob asked for, which beats what the manifest declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Options that change the work itself: whoever differs in them answers another question.
MATERIAL = ("build_mode", "deflate", "log_messages", "subprotocol", "threads", "tls")


@dataclass(frozen=True)
class OptionsDifference:
    """`values`: each value of the option → the targets that have it."""

    option: str
    values: Mapping[str, tuple[str, ...]]

    @property
    def text(self) -> str:
        parts = [f"{value} for {', '.join(targets)}" for value, targets in self.values.items()]
        return f"{self.option} is {'; '.join(parts)}"


def options_in_force(
    declared: Mapping[str, str], knobs: Mapping[str, str], negotiated: Mapping[str, Any]
) -> dict[str, str]:
    """`negotiated` is the `options` of load.json; a null deflate or tls there means not in use."""
    options = {**declared, **{name: value for name, value in knobs.items() if name != "delay_ns"}}
    if negotiated:
        for name in ("deflate", "tls"):
            options[name] = _spoken(negotiated.get(name))
        for name in ("subprotocol", "congestion_control"):
            if negotiated.get(name) is not None:
                options[name] = str(negotiated[name])
    return dict(sorted(options.items()))


def differences(
    options: Mapping[str, Mapping[str, str]], *, compared: str | None = None
) -> list[OptionsDifference]:
    """Where the targets (label → options) differ; `compared`, the factor in question, is meant to.

    A target that says nothing about an option counts as `unknown`, and only where the others differ anyway.
    """
    found = []
    for name in sorted({name for own in options.values() for name in own} - {compared}):
        holders: dict[str, list[str]] = {}
        for label, own in options.items():
            holders.setdefault(own.get(name, "unknown"), []).append(label)
        if len(holders.keys() - {"unknown"}) > 1:
            values = {value: tuple(sorted(labels)) for value, labels in sorted(holders.items())}
            found.append(OptionsDifference(name, values))
    return found


def _spoken(value: Any) -> str:
    match value:
        case None | False:
            return "off"
        case True:
            return "on"
        case _:
            return str(value)

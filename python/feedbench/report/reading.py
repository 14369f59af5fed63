"""findings.json as typed values (spec/README.md): what the report needs of it, by the file's own names.

The report reads the file, not the analysis' objects, so that it can be drawn from anybody's findings. A field
that is missing or of another type is refused with its place in the file; one that is unknown is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from feedbench.errors import RunDirectoryError
from feedbench.paths import read_json

Pair = tuple[float, float]  # both ends of an interval


@dataclass(frozen=True)
class LatencyEstimate:
    value_ns: float | None = None
    interval_ns: Pair | None = None


@dataclass(frozen=True)
class Estimate:
    value: float | None = None
    interval: Pair | None = None


@dataclass(frozen=True)
class Ranked:
    """One line of a ranking; `label` is the target, or `factor=value` where a factor is compared."""

    target: str
    cell: str
    rank: tuple[int, int]
    tier: int
    estimates: Mapping[str, LatencyEstimate]
    probability_first: float | None = None
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or self.target


@dataclass(frozen=True)
class Standing:
    """A line of a ranking at one quantile, where there is a value to show."""

    name: str
    rank: tuple[int, int]
    tier: int
    value_ns: float
    interval_ns: Pair | None


@dataclass(frozen=True)
class Decision:
    """About two labels; a ratio below one: the first takes less time. None: nothing to compute it from."""

    pair: tuple[str, str]
    quantile: str
    decision: Literal["different", "equivalent", "undecided"]
    ratio: float | None = None
    interval: Pair | None = None
    p_holm: float | None = None
    cliffs_delta: float | None = None
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class CopyDecision:
    decision: str
    ratio: float | None = None
    interval: Pair | None = None


@dataclass(frozen=True)
class Sentinel:
    passed: bool
    pair: tuple[str, ...]
    decisions: Mapping[str, CopyDecision]


@dataclass(frozen=True)
class Control:
    passed: bool
    pair: tuple[str, ...]
    delay_ns: int
    expected_ns: tuple[float, float | None] | None = None
    found_ns: float | None = None
    interval_ns: Pair | None = None


@dataclass(frozen=True)
class DroppedBlock:
    block: int
    gate: str
    value: float | None = None
    limit: float | None = None


@dataclass(frozen=True)
class Gate:
    name: str
    passed: bool
    blocks_failed: int
    worst: float | None
    limit: float | None
    text: str


@dataclass(frozen=True)
class Margin:
    ratio: float


@dataclass(frozen=True)
class Question:
    id: str
    text: str
    fixed: Mapping[str, Any]
    compare: str
    quantity: str
    quantiles: tuple[str, ...]
    blocks_used: int
    blocks_dropped: tuple[DroppedBlock, ...]
    ranking: tuple[Ranked, ...]
    ranking_withheld: str | None
    decisions: tuple[Decision, ...]
    margin: Mapping[str, Margin]
    sentinel: Sentinel | None
    control: Control | None
    gates: tuple[Gate, ...]

    def standings(self, quantile: str) -> list[Standing]:
        """The ranking's lines that have a value at `quantile`, best first."""
        estimates = [(entry, entry.estimates.get(quantile)) for entry in self.ranking]
        return [
            Standing(entry.name, entry.rank, entry.tier, estimate.value_ns, estimate.interval_ns)
            for entry, estimate in estimates
            if estimate is not None and estimate.value_ns is not None
        ]


@dataclass(frozen=True)
class Cell:
    """One cell over its usable blocks; `latency_ns` by quantile, None where too few messages back it."""

    cell: str
    target: str
    copy: str | None
    factors: Mapping[str, Any]
    verdicts: Mapping[str, int]
    causes: tuple[str, ...]
    round_trips_per_s: Estimate | None
    latency_ns: Mapping[str, float | None]
    per_block: tuple[Mapping[str, float | None], ...]
    percentile_curve: tuple[Pair, ...]
    received: int | None = None
    lost: int | None = None
    duplicated: int | None = None
    out_of_order: int | None = None
    wrong: int | None = None
    cpu_ns_per_message: Estimate | None = None
    memory_per_connection_bytes: float | None = None
    ceiling_share: float | None = None
    generator_bound: bool = False
    warmup_class: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None
    toolchain: str | None = None


@dataclass(frozen=True)
class Impossible:
    cell: str
    check: str
    text: str


@dataclass(frozen=True)
class OptionDifference:
    option: str
    text: str


@dataclass(frozen=True)
class NotMeasured:
    target: str
    reason: str


@dataclass(frozen=True)
class Advice:
    code: str
    severity: str
    text: str


@dataclass(frozen=True)
class Findings:
    scenario: str
    title: str
    run: str
    analysis: str
    questions: tuple[Question, ...]
    cells: tuple[Cell, ...]
    impossible: tuple[Impossible, ...]
    options_differences: tuple[OptionDifference, ...]
    not_measured: tuple[NotMeasured, ...]
    advice: tuple[Advice, ...]
    complete: bool
    repeat: str


def read_findings(path: Path) -> Findings:
    """The findings in `path`; RunDirectoryError if missing, cut short, of another schema or shape."""
    document = read_json(path, needed_for="draw the report; `feedbench analyze` writes it")
    try:
        return typed(Findings, document, "")
    except ValueError as error:
        raise RunDirectoryError(
            str(error), where=str(path), hint="`feedbench analyze` writes it anew"
        ) from error


T = TypeVar("T")


def typed(kind: type[T], value: Any, place: str) -> T:
    """`value` (from JSON) as `kind`; ValueError with its place in the document when it is something else."""
    converted: T = _typed(kind, value, place)
    return converted


def _typed(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        return _typed(next(each for each in arguments if each is not NoneType), value, place)
    if origin is Literal:
        return _checked(value in arguments, value, place, " or ".join(arguments))
    if is_dataclass(kind):
        return _record(kind, value, place)
    if origin is tuple:
        return _sequence(arguments, value, place)
    if origin is Mapping:
        _checked(isinstance(value, dict), value, place, "an object")
        return {key: _typed(arguments[1], item, f"{place}.{key}") for key, item in value.items()}
    if kind is float:
        return _checked(
            isinstance(value, int | float) and not isinstance(value, bool), value, place, "a number"
        )
    return _checked(isinstance(value, kind), value, place, kind.__name__)


def _record(kind: Any, value: Any, place: str) -> Any:
    _checked(isinstance(value, dict), value, place, "an object")
    hints = get_type_hints(kind)
    given = {}
    for each in fields(kind):
        inner = f"{place}.{each.name}" if place else each.name
        if each.name in value:
            given[each.name] = _typed(hints[each.name], value[each.name], inner)
        elif each.default is MISSING and each.default_factory is MISSING:
            raise ValueError(f"`{inner}` is missing")
    return kind(**given)


def _sequence(arguments: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    _checked(isinstance(value, list), value, place, "a list")
    if arguments[-1] is Ellipsis:
        return tuple(_typed(arguments[0], item, f"{place}[{index}]") for index, item in enumerate(value))
    _checked(len(value) == len(arguments), value, place, f"a list of {len(arguments)}")
    return tuple(
        _typed(each, item, f"{place}[{index}]")
        for index, (each, item) in enumerate(zip(arguments, value, strict=True))
    )


def _checked(right: bool, value: Any, place: str, wanted: str) -> Any:
    if not right:
        raise ValueError(f"`{place}` is {value!r:.60}, not {wanted}")
    return value

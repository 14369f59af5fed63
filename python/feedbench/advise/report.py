"""The decision report as a value: what to choose, why, what was left out and why, and when it flips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from feedbench.advise.dominance import Dominated, Relation, divide, relations
from feedbench.advise.evidence import Choice, Evidence, Observation
from feedbench.advise.judge import Verdict, cores, judge
from feedbench.advise.need import DOORS, Need
from feedbench.findings import Interval
from feedbench.units import format_duration

TIMES = 10  # what a busier day may bring
FlipState = Literal["same", "changes", "nothing_meets_it", "not_measured"]


@dataclass(frozen=True)
class Chosen:
    """A choice that meets the need and that nothing beats. `cores` for the need's rate; None: not known.

    `beside` says in what it differs from each other one, and what was not decided.
    """

    choice: Choice
    reasons: tuple[str, ...]
    source: str
    cell: str
    p99_ns: float | None
    p99_interval_ns: Interval | None
    cores: float | None
    memory_bytes: int | None
    beside: tuple[str, ...]


@dataclass(frozen=True)
class Flip:
    """What becomes of the choice when the need changes in one respect."""

    change: str
    state: FlipState
    gained: tuple[Choice, ...]
    lost: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Decided:
    """`left_out`: shown not to meet the need, or not known to; `absent`: asked for and never measured."""

    need: Need
    chosen: tuple[Chosen, ...]
    dominated: tuple[Dominated, ...]
    left_out: tuple[Verdict, ...]
    absent: tuple[str, ...]
    flips: tuple[Flip, ...]
    unused: tuple[str, ...]
    commands: tuple[str, ...]


def decide(need: Need, evidence: Evidence) -> Decided:
    """The report on what `evidence` shows of choices through the need's doors, in its languages."""
    verdicts = judge_all(need, evidence)
    chosen, dominated = _divided(verdicts, evidence)
    return Decided(
        need=need,
        chosen=tuple(
            _chosen(verdict, chosen, need, evidence) for verdict in verdicts if verdict.choice in chosen
        ),
        dominated=tuple(dominated),
        left_out=tuple(verdict for verdict in verdicts if verdict.state != "meets"),
        absent=tuple(_absent(need, evidence)),
        flips=tuple(_flip(changed, list(chosen), evidence) for changed in _changes(need)),
        unused=evidence.unused,
        commands=(*evidence.commands, *_to_know(need, verdicts)),
    )


def judge_all(need: Need, evidence: Evidence) -> list[Verdict]:
    """Of every choice that the need admits and that was measured with its compression."""
    found = []
    for choice in evidence.choices:
        own = [
            one
            for one in evidence.observations
            if one.choice == choice and one.deflate == need.deflate and need.payload in (None, one.payload)
        ]
        admitted = choice.door in need.doors and choice.language in (need.languages or (choice.language,))
        if own and admitted:
            found.append(judge(choice, own, need))
    return found


def _divided(
    verdicts: Sequence[Verdict], evidence: Evidence
) -> tuple[dict[Choice, Observation], Sequence[Dominated]]:
    met = {verdict.choice: verdict.evidence for verdict in verdicts if verdict.evidence is not None}
    kept, dominated = divide(met, evidence)
    return {choice: met[choice] for choice in kept}, dominated


def _chosen(verdict: Verdict, kept: dict[Choice, Observation], need: Need, evidence: Evidence) -> Chosen:
    choice, own = verdict.choice, kept[verdict.choice]
    others = [(other, relations(own, theirs, evidence)) for other, theirs in kept.items() if other != choice]
    return Chosen(
        choice=choice,
        reasons=verdict.reasons,
        source=own.source,
        cell=own.cell,
        p99_ns=own.p99_ns,
        p99_interval_ns=own.p99_interval_ns,
        cores=cores(own, need),
        memory_bytes=own.memory_bytes,
        beside=tuple(f"against {other}: {relation_words(found)}" for other, found in others),
    )


def relation_words(found: dict[str, Relation]) -> str:
    """`better in CPU, worse in memory; p99 undecided`."""
    groups = [
        (words, [name for name, relation in found.items() if relation == kind])
        for kind, words in (("better", "better in"), ("worse", "worse in"), ("tied", "tied in"))
    ]
    parts = [f"{words} {' and '.join(names)}" for words, names in groups if names]
    undecided = [name for name, relation in found.items() if relation == "open"]
    told = ", ".join(parts)
    if not undecided:
        return told
    return f"{told}; {' and '.join(undecided)} undecided".removeprefix("; ")


def _absent(need: Need, evidence: Evidence) -> Iterator[str]:
    doors = {choice.door for choice in evidence.choices}
    languages = {choice.language for choice in evidence.choices}
    for door in need.doors:
        if door not in doors:
            yield f"the door {door}: no run given here measured it"
    for language in need.languages:
        if language not in languages:
            yield f"the language {language}: no run given here measured a target of it"
    if need.deflate and not any(one.deflate for one in evidence.observations):
        yield "compression: no run given here measured it"


@dataclass(frozen=True)
class _Change:
    """A need that differs in one respect, and the command whose run would tell of it."""

    words: str
    need: Need
    remedy: str


def _changes(need: Need) -> Iterator[_Change]:
    busier = replace(need, rate_per_s=need.rate_per_s * TIMES)
    yield _Change(f"at {TIMES} times the rate", busier, "feedbench run scenarios/servers/open-loop.toml")
    if "ws" in need.doors and "wss" not in need.doors:
        doors = tuple("wss" if door == "ws" else door for door in need.doors)
        yield _Change("with TLS", replace(need, doors=doors), "feedbench run scenarios/servers/tls.toml")
    if not need.deflate:
        compressed = replace(need, deflate=True)
        yield _Change("with deflate", compressed, "feedbench run scenarios/servers/deflate.toml")


def _flip(changed: _Change, before: list[Choice], evidence: Evidence) -> Flip:
    """Choices are held against each other without their door: TLS changes it for all."""
    change = changed.words
    verdicts = judge_all(changed.need, evidence)
    if not verdicts:
        return Flip(change, "not_measured", (), (), f"not known, no run here measured it: {changed.remedy}")
    after = list(_divided(verdicts, evidence)[0])
    names = {_without_door(choice) for choice in before}
    gained = tuple(choice for choice in after if _without_door(choice) not in names)
    lost = tuple(_why_lost(choice, verdicts, after) for choice in before if not _kept(choice, after))
    if not after:
        reasons = f": {'; '.join(lost)}" if lost else ""
        return Flip(change, "nothing_meets_it", gained, lost, f"nothing is shown to meet it{reasons}")
    if not gained and not lost:
        return Flip(change, "same", gained, lost, "the same choice")
    told = [f"comes in: {', '.join(map(str, gained))}"] if gained else []
    told += [f"falls out: {'; '.join(lost)}"] if lost else []
    return Flip(change, "changes", gained, lost, "; ".join(told))


def _without_door(choice: Choice) -> tuple[str, tuple[tuple[str, str], ...]]:
    return choice.target, choice.settings


def _kept(choice: Choice, after: Sequence[Choice]) -> bool:
    return any(_without_door(other) == _without_door(choice) for other in after)


def _why_lost(choice: Choice, verdicts: Sequence[Verdict], after: Sequence[Choice]) -> str:
    verdict = next((one for one in verdicts if _without_door(one.choice) == _without_door(choice)), None)
    if verdict is None:
        return f"{choice}: not measured so"
    if verdict.state == "meets":
        return f"{choice}: another beats it in every respect"
    known = "does not meet it" if verdict.state == "fails" else "not known to meet it"
    return f"{choice}: {known} ({'; '.join(verdict.reasons)})"


def _to_know(need: Need, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The search that settles what is not known, for choices that it can be put to as they are."""
    limit = f"--quantile p99 --below {format_duration(need.p99_ns).replace(' ', '').replace('µ', 'u')}"
    for verdict in verdicts:
        plain = verdict.choice.door == "ws" and not verdict.choice.settings and not need.deflate
        if verdict.state == "unknown" and plain:
            search = f"--of rate --connections {need.streams} {limit} --json"
            yield f"feedbench capacity {verdict.choice.target} {search}"


def check_need(need: Need, payloads: Sequence[str]) -> str | None:
    """What is wrong with it, where the runs sent these payloads; None when nothing is."""
    if need.payload is None and len(payloads) > 1:
        return f"the runs sent different payloads: say which counts, of {', '.join(payloads)} (--payload)"
    if need.payload is not None and need.payload not in payloads:
        return f'no run given here sent "{need.payload}", but {", ".join(payloads) or "nothing"}'
    for door in need.doors:
        if door not in DOORS:
            return f'"{door}" is no door; there are {", ".join(DOORS)}'
    if not 0 <= need.loss_share <= 1:
        return "a share of lost messages lies between 0 and 1"
    if need.p99_ns <= 0:
        return "a limit of 0 is met by nothing"
    return None

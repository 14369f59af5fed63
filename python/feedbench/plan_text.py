"""A plan in words, for people who want to know what will happen before it does."""

from __future__ import annotations

from collections.abc import Iterator

from feedbench.load import CapacityShare
from feedbench.plan import LOCAL, Host, Plan, Process
from feedbench.spelling import spelled
from feedbench.units import format_duration


def describe(plan: Plan) -> str:
    """What runs, in what blocks, how long, what is left out and why; no newline at the end."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield f"{plan.scenario}: {plan.title}"
    yield f"  {plan.question}"
    yield ""
    processes, host = _count(len(plan.processes), "process"), _told(plan.hosts[0])
    yield f"{processes}, started fresh in every block, on {host}:"
    for process in plan.processes:
        yield f"  {process.id}{_role(process)}"
    yield from _load(plan)
    yield ""
    yield f"{_count(len(plan.cells), 'cell')} in {_count(len(plan.rounds), 'round')} of each block:"
    for entry in plan.rounds:
        awake = "CPUs kept awake" if entry.cpus_awake else "CPUs left to sleep"
        yield f"  {entry.id}: {_count(len(entry.cells), 'cell')}, client {entry.client}, {awake}"
    yield ""
    yield _timing(plan)
    yield from _calibration(plan)
    yield f"{_count(len(plan.questions), 'question')}, comparing {plan.compare}; seed {plan.seed}."
    yield from _unranked(plan)
    if plan.skipped:
        yield ""
        yield "Left out:"
        for skipped in plan.skipped:
            yield f"  {skipped.cell or skipped.target}: {skipped.reason}"


def _timing(plan: Plan) -> str:
    protocol = plan.protocol
    slices = (
        "one after the other"
        if protocol.slice_ns is None
        else f"in random slices of {format_duration(protocol.slice_ns)}"
    )
    blocks = _count(protocol.blocks, "block")
    each = format_duration(plan.estimate_ns // protocol.blocks)
    text = (
        f"{blocks} of about {each}, {format_duration(plan.estimate_ns)} in all: per cell and block "
        f"{format_duration(protocol.warmup_ns)} of warm-up and {format_duration(protocol.measure_ns)} "
        f"of measuring, {slices}."
    )
    if plan.budget_ns is None:
        return text
    text += f"\nBudget {format_duration(plan.budget_ns)}: no block starts that would not end within it."
    if plan.estimate_ns > plan.budget_ns:
        fitting = plan.budget_ns * protocol.blocks // plan.estimate_ns
        text += f" About {_count(fitting, 'block')} will fit."
    return text


def _calibration(plan: Plan) -> Iterator[str]:
    if any(isinstance(condition.load.pacer, CapacityShare) for condition in plan.conditions):
        yield "Before the first block each process is driven to its limit: rates are shares of that."


def _unranked(plan: Plan) -> Iterator[str]:
    for name in ("sentinel", "control"):
        lacking = [question for question in plan.questions if getattr(question, name) is None]
        if lacking:
            ids = "; ".join(question.id for question in lacking)
            yield f"Without a {name}, and so without a ranking: {ids}."


def _role(process: Process) -> str:
    knobs = ", ".join(f"{knob} = {spelled(value)}" for knob, value in process.knobs.items())
    role = {"sentinel": "a second copy, for A/A", "control": "a copy delayed on purpose", None: ""}[
        process.copy
    ]
    told = "; ".join(part for part in (role, knobs) if part)
    return f"  ({told})" if told else ""


def _load(plan: Plan) -> Iterator[str]:
    if plan.hosts[0] != LOCAL:
        hosts = [host for name in plan.loaders for host in plan.hosts if host.name == name]
        yield f"The load comes from {', '.join(map(_told, hosts))}."


def _told(host: Host) -> str:
    return f"{host.name} ({host.address})"


def _count(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number} {noun if number == 1 else plural}"

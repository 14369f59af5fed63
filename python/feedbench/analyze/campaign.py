"""From a run directory to its findings: the analysis in the order that it happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from feedbench.analyze.advice import Code, advice
from feedbench.analyze.cells import MeasuredCell, measure_cell, settle_warmup
from feedbench.analyze.controls import judge_sentinels
from feedbench.analyze.crossing import find_crossings
from feedbench.analyze.doors import find_doors
from feedbench.analyze.evidence import Evidence, read_evidence
from feedbench.analyze.gates import RoundGates, judge_round
from feedbench.analyze.options import MATERIAL, differences
from feedbench.analyze.questions import answer, complete, label
from feedbench.analyze.relays import relay_findings
from feedbench.analyze.signflip import blocks_needed
from feedbench.analyze.studentized import size_needed
from feedbench.analyze.tables import write_tables
from feedbench.analyze.targets import target_findings
from feedbench.findings import Advice, CellFinding, Findings, NotMeasured, OptionsFinding, QuestionFinding
from feedbench.load import OWN, Closed
from feedbench.paths import RunDirectory, write_json
from feedbench.plan import Plan, Question


def analyze_run(run: RunDirectory) -> Findings:
    """Analyses what the run left, whole or not, and writes findings.json and tables/ beside it.

    RunDirectoryError when there is no plan or nothing was measured, or the files can't be written.
    """
    findings = find(read_evidence(run))
    write_json(run.findings, findings.to_json())
    write_tables(run, findings)
    return findings


def find(evidence: Evidence) -> Findings:
    """The findings; reads the samples, writes nothing."""
    plan = evidence.plan
    gates = {entry.id: judge_round(evidence, entry) for entry in plan.rounds}
    dropped = {name: {drop.block for drop in judged.dropped} for name, judged in gates.items()}
    rounds = {cell.id: evidence.round_of(cell.id).id for cell in plan.cells}
    measured = {cell.id: measure_cell(evidence, cell, dropped[rounds[cell.id]]) for cell in plan.cells}
    for entry in plan.rounds:
        settled = settle_warmup([measured[name] for name in entry.cells])
        measured.update(zip(entry.cells, settled, strict=True))
    cells = {cell.id: measured[cell.id] for cell in plan.cells}
    values = {name: cell.values for name, cell in cells.items()}
    sentinels = judge_sentinels(plan, values)
    questions = tuple(
        answer(plan, question, values, sentinels, _rounds_of(question, rounds, gates))
        for question in plan.questions
    )
    options = _options_differences(plan, cells)
    impossible = tuple(law for cell in cells.values() for law in cell.impossible)
    return Findings(
        scenario=plan.scenario,
        title=plan.title,
        run=evidence.run.path.resolve().name,
        analysis=plan.analysis,
        questions=questions,
        cells=tuple(cell.finding for cell in cells.values()),
        impossible=impossible,
        options_differences=options,
        not_measured=tuple(_not_measured(evidence, cells)),
        advice=tuple(_advice(evidence, questions, cells, options)),
        targets=tuple(target_findings(evidence)),
        crossings=find_crossings(plan, values, questions),
        doors=find_doors(evidence, dropped),
        relays=tuple(
            relay_findings(evidence, {name: dropped[round_id] for name, round_id in rounds.items()})
        ),
        complete=_complete(evidence),
        repeat=f"feedbench run runs/{evidence.run.path.resolve().name}/scenario.toml --seed {plan.seed}",
    )


def _rounds_of(
    question: Question, rounds: Mapping[str, str], gates: Mapping[str, RoundGates]
) -> list[RoundGates]:
    return [gates[name] for name in dict.fromkeys(rounds[cell] for cell in question.cells)]


def _options_differences(plan: Plan, cells: Mapping[str, MeasuredCell]) -> tuple[OptionsFinding, ...]:
    """Over all questions, each difference once."""
    found = {}
    for question in plan.questions:
        options = {
            label(plan.cell(cell), question.compare): cells[cell].finding.options
            for cell in question.cells
            if cells[cell].finding.blocks
        }
        for difference in differences(options, compared=question.compare):
            found[difference.text] = difference
    return tuple(found.values())


def _not_measured(evidence: Evidence, cells: Mapping[str, MeasuredCell]) -> Iterator[NotMeasured]:
    """What the plan left out, what the run left out, and what gave no usable block."""
    left_out = {(skipped.target, skipped.reason) for skipped in evidence.plan.skipped}
    for entry in (evidence.record or {}).get("left_out", []):
        left_out.add((entry["target"], entry["reason"]))
    for target, reason in sorted(left_out):
        yield NotMeasured(target, reason)
    for name, cell in cells.items():
        # A cell that only lost its blocks to the gates was measured; its question shows the dropped blocks.
        if cell.finding.blocks == 0 and cell.finding.copy is None:
            usable = any(result.usable for result in evidence.cells[name].values())
            causes = "; ".join(cell.finding.causes) or (None if usable else "the run did not come to it")
            if causes:
                yield NotMeasured(cell.finding.target, f"{name}: {causes}")


def _complete(evidence: Evidence) -> bool:
    """Everything that was planned, or all that the budget allowed, is there."""
    if evidence.record is not None:
        return evidence.record["stopped"] in ("complete", "budget")
    return all(
        len(blocks) == len(evidence.plan.blocks_with(evidence.plan.cell(cell).process))
        for cell, blocks in evidence.cells.items()
    )


def _advice(
    evidence: Evidence,
    questions: Sequence[QuestionFinding],
    cells: Mapping[str, MeasuredCell],
    options: Sequence[OptionsFinding],
) -> Iterator[Advice]:
    yield from _advice_on_run(evidence)
    for question in questions:
        yield from _advice_on_question(evidence, question)
    material = [difference.text for difference in options if difference.option in MATERIAL]
    if material:
        yield advice(Code.OPTIONS_DIFFER, text="; ".join(material))
    yield from _advice_on_cells(cells)
    yield from _own_run_delay(evidence)


def _advice_on_run(evidence: Evidence) -> Iterator[Advice]:
    plan, record = evidence.plan, evidence.record or {}
    done = len(record.get("blocks_done", evidence.blocks))
    if not _complete(evidence):
        cause = record.get("cause") or record.get("stopped") or "it left no record of its end"
        yield advice(Code.INCOMPLETE, cause=cause, done=done, planned=len(plan.blocks))
    elif done < len(plan.blocks):
        yield advice(Code.BUDGET, done=done, planned=len(plan.blocks))
    for network, verdict in evidence.networks.items():
        if verdict["departures"]:
            departures = "; ".join(verdict["departures"])
            yield advice(Code.NETWORK_DEPARTS, network=network, departures=departures)
    loads = [condition.load for condition in plan.conditions]
    if any(isinstance(load.pacer, Closed) for load in loads):
        yield advice(Code.CLOSED_LOOP)
    if any(load.client == OWN for load in loads):
        yield advice(Code.OWN_CLIENT)
    elif plan.protocol.slice_ns is None:
        yield advice(Code.UNSLICED)
    environments = {entry.id: list(evidence.environments[entry.id].values()) for entry in plan.rounds}
    asleep = [name for name, found in environments.items() if any(not one.get("cpus_awake") for one in found)]
    if asleep:
        yield advice(Code.SLEEPING_CPUS, rounds=", ".join(asleep))
    every = [one for found in environments.values() for one in found]
    if any(not one.get("shield") for one in every):
        yield advice(Code.NO_SHIELD)
    if any(not one.get("pinned") for one in every):
        yield advice(Code.NOT_PINNED)


def _advice_on_question(evidence: Evidence, question: QuestionFinding) -> Iterator[Advice]:
    dropped = {drop.block for drop in question.blocks_dropped}
    if dropped:
        yield advice(
            Code.BLOCKS_DROPPED,
            count=len(dropped),
            total=len(dropped) + question.blocks_used,
            question=question.id,
        )
    pairs = len(list(combinations({cell for decision in question.decisions for cell in decision.cells}, 2)))
    if pairs:
        yield from _few_blocks(evidence.plan, question, pairs)
    missing = [
        name
        for name, copy in (("sentinel", question.sentinel), ("control", question.control))
        if copy is None
    ]
    if missing:
        yield advice(Code.NO_COPIES, question=question.id, missing=" and no ".join(missing))
    decisions = question.sentinel.decisions.values() if question.sentinel else ()
    if any(comparison.outcome == "different" for comparison in decisions):
        yield advice(Code.SENTINEL_FAILED, question=question.id)
    if question.control and question.control.comparison.blocks and not question.control.passed:
        yield advice(Code.CONTROL_FAILED, question=question.id)


def _few_blocks(plan: Plan, question: QuestionFinding, pairs: int) -> Iterator[Advice]:
    """Whether the test could tell any pair apart; where blocks hold a choice, it goes by blocks a target."""
    alpha = 1 - plan.protocol.confidence
    if complete(plan, next(asked for asked in plan.questions if asked.id == question.id)):
        used, needed, code = question.blocks_used, blocks_needed(pairs, alpha), Code.FEW_BLOCKS
    else:
        yield advice(Code.INCOMPLETE_BLOCKS, question=question.id)
        headline = question.quantiles[0]
        of_pairs = [
            decision.comparison.blocks for decision in question.decisions if decision.quantile == headline
        ]
        used, needed, code = min(of_pairs), size_needed(pairs, alpha), Code.FEW_BLOCKS_EACH
    if used < needed:
        yield advice(code, question=question.id, used=used, needed=needed, pairs=pairs)


def _advice_on_cells(cells: Mapping[str, MeasuredCell]) -> Iterator[Advice]:
    findings = [cell.finding for cell in cells.values()]

    def named(chosen: list[CellFinding]) -> str:
        return ", ".join(finding.cell for finding in chosen)

    if bound := [finding for finding in findings if finding.generator_bound]:
        yield advice(Code.GENERATOR_BOUND, cells=named(bound))
    if failed := [finding for finding in findings if finding.causes]:
        yield advice(Code.FAILED_CELLS, cells=named(failed))
    if count := sum(len(cell.impossible) for cell in cells.values()):
        yield advice(Code.IMPOSSIBLE, count=count)
    if cut := [cell.finding for cell in cells.values() if cell.cut_short]:
        yield advice(Code.CUT_SHORT, cells=named(cut))
    if moving := [finding for finding in findings if finding.warmup_class == "no_steady_state"]:
        yield advice(Code.NO_STEADY_STATE, cells=named(moving))
    if slower := [finding for finding in findings if finding.warmup_class == "slowdown"]:
        yield advice(Code.SLOWDOWN, cells=named(slower))


def _own_run_delay(evidence: Evidence) -> Iterator[Advice]:
    """Targets that wait for a CPU in most blocks, beside the gate, which asks whether all of them do."""
    limit = evidence.plan.gates.run_delay_share
    waiting: dict[str, list[bool]] = {}
    for environments in evidence.environments.values():
        for environment in environments.values():
            for process, share in environment.get("target_run_delay_share", {}).items():
                if share is not None:
                    waiting.setdefault(process, []).append(share > limit)
    targets = [process for process, blocks in waiting.items() if sum(blocks) * 2 > len(blocks)]
    if targets:
        yield advice(Code.OWN_RUN_DELAY, targets=", ".join(targets), limit=limit)

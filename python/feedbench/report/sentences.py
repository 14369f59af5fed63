"""What the findings say, in words: pure functions from findings to sentences, tested as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from feedbench.findings import CellFinding, ControlFinding, Findings, QuestionFinding
from feedbench.findings.cell import WarmupClass
from feedbench.report.numbers import duration, estimate_words, ratio_words, share, significant
from feedbench.report.standing import Standing, standings
from feedbench.units import format_duration

Mood = Literal["good", "caution", "bad", "silent"]

QUANTITIES = {
    "round_trip": "round trip",
    "event_age": "event age",
    "polled_age": "age of what polls tell",
}
FEWEST_BLOCKS = 6  # below these no two-sided exact test reaches 5 %
GATES = {
    "lateness_p999_share": "engine on time",
    "achieved_rate_share": "rate reached",
    "steal_share": "CPU not stolen",
    "run_delay_share": "targets not waiting for a CPU",
    "engine_stalls": "engine not stalled",
    "exchange_run_delay_share": "exchange not waiting for a CPU",
}
WARMUPS: Mapping[WarmupClass, str] = {
    "flat": "steady",
    "warmup": "warms up",
    "slowdown": "slows down",
    "no_steady_state": "never steady",
}


@dataclass(frozen=True)
class Badge:
    """A quality mark: short label, state, and the words that say what it means."""

    label: str
    state: str
    mood: Mood
    words: str


def quantile_name(quantile: str) -> str:
    """`p50` → `Median (p50)`: the word people know, the name they look for."""
    return "Median (p50)" if quantile == "p50" else quantile


def quantity_name(quantity: str) -> str:
    return QUANTITIES.get(quantity, quantity.replace("_", " "))


def rank_interval(rank: Sequence[int]) -> str:
    """`(1, 2)` → `1–2`, `(3, 3)` → `3`."""
    low, high = rank
    return str(low) if low == high else f"{low}–{high}"


def condition_words(factors: Mapping[str, Any]) -> str:
    """`{"connections": 32, "payload": "text:37"}` → `connections 32, payload text:37`."""
    return ", ".join(f"{key.replace('_', ' ')} {value_words(value)}" for key, value in factors.items())


def value_words(value: Any) -> str:
    """A factor's value: `true` → `on`, nothing → `default`."""
    if value is None:
        return "default"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def pair_words(pair: Sequence[str], compare: str) -> str:
    """`("log_messages=true", "log_messages=false")` → `true / false`; targets as they stand."""
    return " / ".join(name.removeprefix(f"{compare}=") for name in pair)


def joined(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def answer(question: QuestionFinding) -> str:
    """One honest paragraph: who is first, what could not be told apart, or why there is no ranking."""
    if question.withheld:
        return f"No ranking is printed: {_ended(question.withheld)}"
    if not question.ranking:
        return "Nothing could be ranked: no cell of this question gave a result."
    quantile = question.quantiles[0]
    entries = standings(question, quantile)
    if not entries:
        return f"Nothing could be ranked: too few messages stand behind {quantile}."
    if len(entries) == 1:
        return f"There is nothing to compare: only {entries[0].name} gave a result, {_estimate(entries[0])}."
    what = "median" if quantile == "p50" else quantile
    quantity = quantity_name(question.quantity)
    return " ".join(
        part for part in (_first(entries, what, quantity), _last(entries), undecided(question)) if part
    )


def _first(entries: Sequence[Standing], what: str, quantity: str) -> str:
    leaders = [entry for entry in entries if entry.tier == 1]
    if len(leaders) == len(entries):
        return f"All {len(entries)} share one tier: their {what} {quantity}s could not be shown to differ."
    if len(leaders) == 1:
        leader, runner = leaders[0], next(entry for entry in entries if entry.tier != 1)
        lead = 1 - leader.value_ns / runner.value_ns
        return (
            f"{leader.name} is first: its {what} {quantity} is {_estimate(leader)}, "
            f"{share(lead)} less than that of {runner.name}, the next."
        )
    names = joined([leader.name for leader in leaders])
    return (
        f"{names} share the first tier: their {what} {quantity}s, {_estimate(leaders[0])} to "
        f"{_estimate(leaders[-1])}, could not be shown to differ."
    )


def _last(entries: Sequence[Standing]) -> str:
    slowest = entries[-1]
    if slowest.tier == 1:
        return ""
    times = slowest.value_ns / entries[0].value_ns
    if times < 1.005:
        return ""
    return f"{slowest.name}, the last, takes {significant(times)} times as long as {entries[0].name}."


def _estimate(entry: Standing) -> str:
    return estimate_words(entry.value_ns, entry.interval_ns)


def undecided(question: QuestionFinding) -> str:
    """How many pairs stayed open, for each declared quantile."""
    parts = []
    for quantile in question.quantiles:
        decisions = [decision.outcome for decision in question.decisions if decision.quantile == quantile]
        if decisions:
            parts.append(f"{decisions.count('undecided')} of {len(decisions)} pairs at {quantile}")
    if not parts:
        return ""
    if all(part.startswith("0 ") for part in parts):
        return "No pair is left undecided."
    return f"Left undecided: {joined(parts)}."


def decision_counts(question: QuestionFinding) -> str:
    """`20 different, 1 equivalent, 7 undecided`, over all declared quantiles."""
    decisions = [decision.outcome for decision in question.decisions]
    return ", ".join(f"{decisions.count(kind)} {kind}" for kind in ("different", "equivalent", "undecided"))


def comparison(question: QuestionFinding) -> str:
    """The answer of a question that compares a factor's values: a sentence for each pair."""
    quantile, factor = question.quantiles[0], question.compare.replace("_", " ")
    sentences = []
    for decision in question.decisions:
        if decision.quantile != quantile:
            continue
        first, second = (name.removeprefix(f"{question.compare}=") for name in decision.pair)
        ratio = ratio_words(decision.comparison.ratio, decision.comparison.interval)
        if decision.outcome == "different":
            sentences.append(f"With {factor} {first} the {quantile} is {ratio} times that with {second}.")
        else:
            sentences.append(
                f"{factor} {first} and {second} at {quantile}: {decision.outcome}, ratio {ratio}."
            )
    return " ".join(sentences) or "Nothing could be compared: no pair gave a result."


def badges(question: QuestionFinding, cells: Sequence[CellFinding], *, complete: bool) -> list[Badge]:
    """What stands behind the answer, each mark with its words."""
    marks = [
        _sentinel(question, {cell.cell: cell.target for cell in cells}),
        _control(question),
        _gates(question),
        _blocks(question),
    ]
    if not complete:
        marks.append(
            Badge(
                "Run", "interrupted", "caution", "The run ended early; what was measured until then is shown."
            )
        )
    return marks


def _sentinel(question: QuestionFinding, targets: Mapping[str, str]) -> Badge:
    sentinel = question.sentinel
    if sentinel is None:
        return Badge(
            "Sentinel",
            "none",
            "bad",
            "No second copy ran, so nothing shows that equal things come out equal.",
        )
    copied = targets.get(sentinel.pair[0], sentinel.pair[0])
    first = next(iter(sentinel.decisions.values()), None)
    found = f" (ratio {ratio_words(first.ratio, first.interval)})" if first else ""
    if sentinel.passed:
        return Badge(
            "Sentinel", "a tie", "good", f"Two copies of {copied} could not be told apart{found}, as must be."
        )
    return Badge(
        "Sentinel",
        "failed",
        "bad",
        f"Two copies of {copied} came out different{found}: the method erred here.",
    )


def _control(question: QuestionFinding) -> Badge:
    control = question.control
    if control is None:
        return Badge(
            "Control",
            "none",
            "bad",
            "No delayed copy ran, so nothing shows that a known difference would be found.",
        )
    found = estimate_words(control.found_ns, control.interval_ns)
    delay = format_duration(control.delay_ns)
    due = _due(control)
    if control.passed:
        return Badge("Control", "found", "good", f"A copy delayed by {delay} was found {found} slower{due}.")
    return Badge(
        "Control",
        "not found",
        "bad",
        f"A copy delayed by {delay} came out as {found} slower{due}: that does not count as finding it.",
    )


def _due(control: ControlFinding) -> str:
    """What the delay must add, where that isn't just the delay: several connections wait in turn."""
    least, most = control.expected_ns
    if least == most:
        return ""
    if most is None:
        return f", where at least {duration(least)} were due"
    return f", where {duration(least)} to {duration(most)} were due"


def _gates(question: QuestionFinding) -> Badge:
    if not question.gates:
        return Badge("Gates", "none", "silent", "No gate on the environment was evaluated.")
    failed = [gate for gate in question.gates if not gate.passed]
    if not failed:
        return Badge(
            "Gates",
            "passed",
            "good",
            f"All {len(question.gates)} gates on the environment passed in every block.",
        )
    words = joined(
        [
            f"“{GATES.get(gate.name, gate.name)}” failed in {_blocks_word(gate.blocks_failed)}"
            for gate in failed
        ]
    )
    return Badge(
        "Gates",
        f"{len(failed)} failed",
        "caution",
        f"{words}; those blocks are left out, whoever they favoured.",
    )


def _blocks_word(number: int) -> str:
    return f"{number} block{'' if number == 1 else 's'}"


def _blocks(question: QuestionFinding) -> Badge:
    used, dropped = question.blocks_used, len({drop.block for drop in question.blocks_dropped})
    words = f"{_blocks_word(used)} of fresh processes stand behind each figure"
    words += f"; {dropped} dropped by a gate." if dropped else "; none was dropped."
    if used < FEWEST_BLOCKS:
        return Badge(
            "Blocks", f"{used} used", "bad", f"{words} Below {FEWEST_BLOCKS} nothing can be decided."
        )
    mood: Mood = "caution" if dropped else "good"
    return Badge("Blocks", f"{used} used", mood, words)


def headline_question(findings: Findings) -> QuestionFinding | None:
    """The question that the page opens with: the first that has a ranking, else the first."""
    return next(
        (question for question in findings.questions if question.ranking),
        next(iter(findings.questions), None),
    )


def gate_words(name: str) -> str:
    return GATES.get(name, name.replace("_", " "))


def verdict_words(verdicts: Mapping[str, int]) -> str:
    """`{"ok": 10, "failed": 1}` → `ok 10, failed 1`."""
    return ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in verdicts.items()) or "not run"


def _ended(sentence: str) -> str:
    return sentence if sentence.rstrip().endswith((".", "!", "?")) else f"{sentence.rstrip()}."

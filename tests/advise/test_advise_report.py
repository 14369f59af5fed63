"""The advice: a dominated choice never appears, undecided pairs are both kept, nothing is extrapolated."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from choices import NEED, SOURCE, Truth, evidence, observation
from hypothesis import given
from hypothesis import strategies as st

from feedbench.advise.evidence import Choice, Evidence
from feedbench.advise.report import Decided, decide
from feedbench.advise.text import decided_text

GO = Truth(p99=300, cpu=10, memory=20)
PYTHON = Truth(p99=600, cpu=40, memory=40)
LEAN = Truth(p99=700, cpu=5, memory=5)

# Steps of a quarter, so that no two values lie within a margin of each other unless they are equal.
steps = st.sampled_from([1.0, 1.25, 1.5, 2.0, 2.5])
truths = st.builds(
    Truth, p99=steps.map(lambda step: step * 200), cpu=steps, memory=steps.map(lambda step: int(step * 20))
)
tables = st.dictionaries(st.sampled_from([f"go/t{n}" for n in range(7)]), truths, min_size=1, max_size=7)


def chosen(decided: Decided) -> set[str]:
    return {one.choice.target for one in decided.chosen}


def beats(one: Truth, other: Truth) -> bool:
    """No worse in anything. Equal CPU is never *shown* to be equal, as equal p99 and memory are."""
    return one.p99 <= other.p99 and one.cpu < other.cpu and one.memory <= other.memory


@given(tables)
def test_a_dominated_choice_never_appears_and_no_other_is_missing(table: dict[str, Truth]) -> None:
    decided = decide(NEED, evidence(table))
    beaten = {name for name, own in table.items() if any(beats(other, own) for other in table.values())}
    assert chosen(decided) == set(table) - beaten
    assert {one.choice.target for one in decided.dominated} == beaten
    for one in decided.dominated:
        assert beats(table[one.by.target], table[one.choice.target])
        assert one.by.target in chosen(decided)


@given(tables, st.data())
def test_an_undecided_pair_never_costs_either_its_place(table: dict[str, Truth], data: st.DataObject) -> None:
    """Whoever is beaten is beaten by one that it was decided against."""
    pairs = [frozenset(pair) for pair in combinations(table, 2)]
    undecided = frozenset(data.draw(st.sets(st.sampled_from(pairs)) if pairs else st.just(set())))
    decided = decide(NEED, evidence(table, undecided=undecided))
    for name, own in table.items():
        by = [
            other
            for other, theirs in table.items()
            if beats(theirs, own) and frozenset((name, other)) not in undecided
        ]
        assert (name in chosen(decided)) == (not by)


def test_each_kept_choice_says_in_what_it_differs_from_the_others() -> None:
    decided = decide(NEED, evidence({"go/fast": GO, "c/lean": LEAN, "python/slow": PYTHON}))
    assert chosen(decided) == {"go/fast", "c/lean"}
    lean = next(one for one in decided.chosen if one.choice.target == "c/lean")
    assert lean.beside == ("against go/fast (ws): better in CPU and memory, worse in p99",)
    assert lean.cores == pytest.approx(0.025)
    text = decided_text(decided)
    assert "python/slow (ws): go/fast (ws) is better in p99 and CPU and memory" in text


def test_choices_of_different_runs_were_never_side_by_side_and_both_stay() -> None:
    one, other = observation("go/fast", GO), observation("python/slow", PYTHON, source="runs/other")
    decided = decide(NEED, Evidence(observations=(one, other)))
    assert chosen(decided) == {"go/fast", "python/slow"}
    assert "p99 undecided" in decided.chosen[0].beside[0]


def test_languages_and_doors_narrow_the_choice_and_what_was_never_measured_is_named() -> None:
    known = evidence({"go/fast": GO, "c/lean": LEAN})
    need = replace(NEED, languages=("go", "haskell"), doors=("ws", "rest"))
    decided = decide(need, known)
    assert chosen(decided) == {"go/fast"}
    assert decided.absent == (
        "the door rest: no run given here measured it",
        "the language haskell: no run given here measured a target of it",
    )


def test_ten_times_the_rate_flips_the_choice_where_it_was_measured() -> None:
    """The fast one was measured at both rates; the lean one fails at the higher."""
    high = NEED.rate_per_s * 10
    known = Evidence(
        observations=(
            observation("go/fast", replace(GO, cpu=10)),
            observation("go/fast", GO, rate_per_s=high, cell="go/fast high"),
            observation("c/lean", LEAN),
            observation("c/lean", replace(LEAN, p99=5_000), rate_per_s=high, cell="c/lean high"),
        )
    )
    flips = {flip.change: flip for flip in decide(NEED, known).flips}
    busier = flips["at 10 times the rate"]
    assert busier.state == "changes"
    assert busier.gained == ()
    (lost,) = busier.lost
    assert lost.startswith(
        "c/lean (ws): does not meet it (already at 200 connections at 50,000/s its p99 is 4.9 ms"
    )
    assert flips["with TLS"].state == flips["with deflate"].state == "not_measured"
    assert "scenarios/servers/tls.toml" in flips["with TLS"].text


def test_tls_and_deflate_flip_the_choice_too() -> None:
    table = {"go/fast": GO, "c/lean": LEAN}
    plain = evidence(table)
    secure = tuple(
        observation(name, truth, choice=Choice(name, "wss"), cell=f"{name} wss")
        for name, truth in {"go/fast": replace(GO, p99=400), "rust/new": LEAN}.items()
    )
    packed = tuple(
        observation(name, truth, deflate=True, cell=f"{name} packed") for name, truth in table.items()
    )
    known = replace(plain, observations=(*plain.observations, *secure, *packed))
    flips = {flip.change: flip for flip in decide(NEED, known).flips}
    assert [choice.target for choice in flips["with TLS"].gained] == ["rust/new"]
    assert flips["with TLS"].lost == ("c/lean (ws): not measured so",)
    assert flips["with deflate"].state == "same"


def test_the_commands_repeat_what_was_read_and_tell_what_is_not_known() -> None:
    known = evidence({"go/fast": GO}, connections=32)
    decided = decide(NEED, known)
    assert decided.chosen == ()
    assert decided.commands == (
        "feedbench run one.toml",
        "feedbench capacity go/fast --of rate --connections 200 --quantile p99 --below 1ms --json",
    )
    assert SOURCE not in decided_text(decided)

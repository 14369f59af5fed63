"""Blocks that hold a choice of the targets: what is planted is found, and nothing that is not there.

The campaigns are made of block values with the noise of real ones: what strikes a whole block, in two modes
28 % apart, and what is a process's own, much larger for restless targets.
"""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest

from feedbench.analyze import analyze_run
from feedbench.analyze.adjust import adjusted
from feedbench.analyze.decide import compare_unpaired, correct
from feedbench.analyze.rank import probability_first
from feedbench.analyze.signflip import sign_flip_p
from feedbench.analyze.studentized import draws_for, size_needed, studentized_p
from feedbench.block_design import choose, make_blocks
from feedbench.findings import Comparison
from feedbench.findings.comparison import Margin
from feedbench.paths import RunDirectory
from feedbench.plan import read_plan, write_plan
from synthetic_run import Model, Synthetic, write_run

ONE_PER_CENT = Margin(0.01, "margin_ratio")
Blocks = dict[str, dict[int, int]]


@dataclass(frozen=True)
class Field:
    """Who takes part: ns and deviation of the log by target, and the targets of each block."""

    typical_ns: dict[str, float]
    deviation: dict[str, float]
    blocks: list[tuple[str, ...]]


def field(
    ratios: list[float], *, per_block: int, blocks: int, restless: float = 0.004, seed: int = 1
) -> Field:
    """Every third target has the deviation `restless`, the others 0.4 %; two references are always there."""
    others = [f"t{index}" for index in range(len(ratios))]
    always = ("reference", "reference~sentinel")
    chosen = list(islice(choose(others, per_block, seed=seed), blocks))
    typical = dict.fromkeys(always, 40_000.0)
    typical |= {name: 40_000.0 * ratio for name, ratio in zip(others, ratios, strict=True)}
    deviation = {name: restless if index % 3 == 2 else 0.004 for index, name in enumerate(typical)}
    return Field(typical, deviation, [(*always, *names) for names in chosen])


def campaign(of: Field, *, seed: int) -> Blocks:
    random = np.random.default_rng(seed)
    values: Blocks = {name: {} for name in of.typical_ns}
    for block, names in enumerate(of.blocks):
        weather = math.exp(random.normal(0, 0.05)) * (1.28 if random.random() < 0.5 else 1.0)
        for name in names:
            own = math.exp(random.normal(0, of.deviation[name]))
            values[name][block] = round(of.typical_ns[name] * weather * own)
    return values


def decide(values: Blocks) -> dict[tuple[str, str], Comparison]:
    """All pairs of one campaign, as the analysis does."""
    comparable = adjusted(values)
    pairs = list(combinations([name for name in values if "~" not in name], 2))
    family = [
        compare_unpaired(
            comparable[first],
            comparable[second],
            ONE_PER_CENT,
            confidence=0.95,
            seed=1,
            draws=draws_for(len(pairs), 0.05),
        )
        for first, second in pairs
    ]
    return dict(zip(pairs, correct(family, confidence=0.95), strict=True))


def test_without_chance_a_block_takes_nothing_from_anybody() -> None:
    quiet = field([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], per_block=3, blocks=12)
    still = Field(quiet.typical_ns, dict.fromkeys(quiet.deviation, 0.0), quiet.blocks)
    found = adjusted(campaign(still, seed=1))
    for name, blocks in found.items():
        spread = max(blocks.values()) / min(blocks.values())
        assert spread == pytest.approx(1, abs=1e-4)
        assert math.fsum(blocks.values()) / len(blocks) / (
            math.fsum(found["reference"].values()) / len(found["reference"])
        ) == pytest.approx(quiet.typical_ns[name] / 40_000, abs=1e-4)


def test_one_wild_target_does_not_move_its_neighbours() -> None:
    values = campaign(field([1.0] * 6, per_block=4, blocks=12), seed=1)
    before = adjusted(values)
    wild = values | {"t0": {block: value * 10 ** (block % 3) for block, value in values["t0"].items()}}
    after = adjusted(wild)
    for name in ("t1", "t2", "reference"):
        for block, value in before[name].items():
            assert after[name][block] == pytest.approx(value, rel=0.02)


def test_a_value_without_company_is_left_out() -> None:
    assert adjusted({"a": {0: 100, 1: 200}, "b": {0: 100}}) == {"a": {0: 100}, "b": {0: 100}}
    assert adjusted({"a": {}, "b": {}}) == {"a": {}, "b": {}}


def test_planted_ratios_are_found_though_most_pairs_seldom_meet() -> None:
    ratios = [1.0, 1.03, 1.06, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0, 3.0]
    held = told = inside = 0
    for seed in range(10):
        of = field(ratios, per_block=4, blocks=25, seed=seed)
        for (first, second), comparison in decide(campaign(of, seed=seed)).items():
            true = math.log(of.typical_ns[first] / of.typical_ns[second])
            assert comparison.ratio is not None
            assert comparison.interval is not None
            held += 1
            inside += comparison.interval[0] <= math.exp(true) <= comparison.interval[1]
            if comparison.outcome == "different":
                assert math.copysign(1, math.log(comparison.ratio)) == math.copysign(1, true)
            if abs(true) > 0.025:
                told += comparison.outcome == "different"
            assert abs(math.log(comparison.ratio) - true) < 0.015
    assert inside / held >= 0.93
    assert told / (10 * 52) > 0.95, "of pairs more than 2.5 % apart"


@pytest.mark.parametrize("restless", [0.004, 0.04], ids=["alike", "every third ten times as restless"])
def test_equals_are_seldom_called_different(restless: float) -> None:
    """Family-wise: of campaigns of 36 pairs of equals, at most 5 % show any difference."""
    alarms, rejected, compared, campaigns = 0, 0, 0, 80
    of = field([1.0] * 8, per_block=4, blocks=16, restless=restless)
    for seed in range(campaigns):
        decisions = decide(campaign(of, seed=seed))
        alarms += any(comparison.outcome == "different" for comparison in decisions.values())
        rejected += sum(comparison.p <= 0.05 for comparison in decisions.values())
        compared += len(decisions)
    assert alarms / campaigns <= 0.05
    assert rejected / compared <= 0.07, "single pairs, before correction: 5 % where spreads are alike"


def test_three_occasions_never_contradict_each_other() -> None:
    """Targets close together: a pair may be told apart on one occasion and not on another, but one way."""
    ratios = [1 + 0.005 * index for index in range(9)]
    for case in range(5):
        signs: dict[tuple[str, str], set[bool]] = {}
        for occasion in range(3):
            of = field(ratios, per_block=4, blocks=23, restless=0.02, seed=10 * case + occasion)
            for pair, comparison in decide(campaign(of, seed=100 * case + occasion)).items():
                if comparison.outcome == "different" and comparison.ratio is not None:
                    signs.setdefault(pair, set()).add(comparison.ratio < 1)
        assert signs
        assert not [pair for pair, seen in signs.items() if len(seen) == 2]


def test_a_naive_comparison_of_other_blocks_would_be_wrong() -> None:
    """The check of these checks: without the adjustment the same campaigns give false alarms or nothing."""
    of = field([1.0, 1.05] * 4, per_block=4, blocks=16)
    adjusted_tells = naive_tells = 0
    for seed in range(5):
        values = campaign(of, seed=seed)
        plain = compare_unpaired(values["t0"], values["t1"], ONE_PER_CENT, confidence=0.95, seed=1, draws=9)
        naive_tells += plain.outcome == "different"
        adjusted_tells += decide(values)["t0", "t1"].outcome == "different"
    assert adjusted_tells == 5
    assert naive_tells <= 2


def test_the_permutation_test_counts_all_deals() -> None:
    assert studentized_p([1.0, 2.0, 3.0], [10.0, 11.0, 12.5], seed=1, draws=9) == 2 / 20
    assert studentized_p([1.0, 2.0], [1.0, 2.0], seed=1, draws=9) == 1.0
    assert studentized_p([1.0, 1.0], [2.0, 2.0], seed=1, draws=9) == 2 / 6, "no spread in either"
    assert studentized_p([1.0], [2.0, 3.0], seed=1, draws=9) == 1.0
    many = [float(value) for value in range(30)]
    assert studentized_p(many, [value + 100 for value in many], seed=1, draws=999) == 1 / 1000


def test_a_steady_and_a_restless_target_of_one_speed_come_out_equal_in_unequal_numbers() -> None:
    """Many steady values and few restless ones: a plain permutation of means says "different" too often."""
    random = np.random.default_rng(1)
    rejected = sum(
        studentized_p(list(random.normal(0, 1, 30)), list(random.normal(0, 10, 8)), seed=1, draws=2_000)
        <= 0.05
        for _ in range(400)
    )
    assert rejected / 400 <= 0.08


def test_how_many_blocks_a_target_needs_follows_from_the_number_of_pairs() -> None:
    assert size_needed(1, 0.05) == 4
    assert size_needed(1225, 0.05) == 10
    assert sign_flip_p([0.1] * 10, seed=1) > 0.05 / 1225, "paired signs alone could not tell any pair apart"


def test_the_chance_of_being_first_needs_no_common_block() -> None:
    values = {"a": {0: 10, 1: 11, 2: 10}, "b": {3: 20, 4: 22, 5: 21}}
    assert probability_first(values, paired=False, seed=1) == {"a": 1.0, "b": 0.0}
    assert probability_first(values, paired=True, seed=1) == {"a": 0.0, "b": 0.0}


def incomplete_run(folder: Path) -> RunDirectory:
    """A run of ten targets on disk whose blocks hold the vouchers and three of the other eight."""
    models = [Model("c/floor", 26_000), Model("node/ws", 34_000)]
    models += [Model(f"go/t{index}", 30_000 + 3_000 * index, process_sd=0.003) for index in range(8)]
    run = write_run(
        folder,
        Synthetic(models=tuple(models), connections=(1,), blocks=24, block_sd=0.2, measure_ns=50_000_000),
    )
    plan = read_plan(run.plan)
    blocks = make_blocks(
        24,
        7,
        processes=plan.processes,
        cells=plan.cells,
        rounds=plan.rounds,
        always={"c/floor", "node/ws"},
        per_block=3,
    )
    write_plan(run.plan, replace(plan, blocks=blocks, protocol=replace(plan.protocol, per_block=3)))
    for block in blocks:
        for cell in plan.cells:
            if cell.process not in block.start_order:
                shutil.rmtree(run.cell(block.index, cell.id))
    return run


def test_a_run_in_incomplete_blocks_is_ranked_whole(tmp_path: Path) -> None:
    findings = analyze_run(incomplete_run(tmp_path / "run"))
    (question,) = findings.questions
    assert question.withheld is None
    assert question.blocks_used == 24
    expected = ["c/floor", "go/t0", "go/t1", "node/ws", *(f"go/t{index}" for index in range(2, 8))]
    # node/ws has 34 µs, go/t1 33 and go/t2 36.
    assert [ranked.label for ranked in question.ranking] == expected
    headline = {decision.pair: decision for decision in question.decisions if decision.quantile == "p50"}
    assert {decision.outcome for decision in headline.values()} == {"different"}
    assert headline["go/t0", "go/t7"].comparison.blocks == 9
    assert headline["go/t0", "go/t7"].comparison.ratio == pytest.approx(30 / 51, rel=0.01)
    assert all(ranked.rank[0] == ranked.rank[1] for ranked in question.ranking)
    by_label = {ranked.label: ranked.estimates["p50"].value_ns for ranked in question.ranking}
    assert by_label["go/t7"] / by_label["go/t0"] == pytest.approx(51 / 30, rel=0.01)  # type: ignore[operator]


def test_too_few_blocks_a_target_are_told(tmp_path: Path) -> None:
    run = incomplete_run(tmp_path / "run")
    plan = read_plan(run.plan)
    write_plan(run.plan, replace(plan, blocks=plan.blocks[:8]))
    shutil.rmtree(run.block(8))
    findings = analyze_run(run)
    assert any("as few as 3 blocks" in entry.text for entry in findings.advice)
    assert "incomplete_blocks" in {entry.code for entry in findings.advice}
    outcomes = {decision.pair: decision.outcome for decision in findings.questions[0].decisions}
    assert outcomes["go/t0", "go/t7"] == "undecided", "three blocks each prove nothing"

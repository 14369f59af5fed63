"""The sign-flip test: against scipy, against counting by hand, and at the level that it promises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from feedbench.analyze.signflip import blocks_needed, null_mean_bound, sign_flip_p

DIFFERENCES = st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=9)


@given(DIFFERENCES)
def test_it_counts_all_signs(differences: list[float]) -> None:
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(value >= observed - 1e-12 for value in sums) / len(sums)
    assert sign_flip_p(differences, seed=1) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_scipy(seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.3, 1, 11)
    reference = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip_p(differences.tolist(), seed=1) == pytest.approx(reference.pvalue)


@pytest.mark.parametrize(
    ("differences", "p", "why"),
    [
        ([], 1.0, "nothing was seen"),
        ([0.5], 1.0, "one block alone shows nothing: both signs are as extreme"),
        ([0.0] * 11, 1.0, "no difference at all"),
        ([0.1] * 6, 2 / 64, "six alike: the first count that gets below 5 %"),
        ([0.1] * 11, 2 / 2048, "eleven alike: the smallest p that eleven blocks have"),
        ([0.1, -0.1, 0.1, -0.1], 1.0, "as much one way as the other"),
    ],
)
def test_known_values(differences: list[float], p: float, why: str) -> None:
    assert sign_flip_p(differences, seed=1) == p, why


def test_beyond_twenty_blocks_it_draws_and_a_seed_repeats_it() -> None:
    differences = np.random.default_rng(3).normal(0.2, 1, 24).tolist()
    p = sign_flip_p(differences, seed=7)
    assert p == sign_flip_p(differences, seed=7)
    exact = stats.ttest_1samp(differences, 0).pvalue
    assert p == pytest.approx(exact, abs=0.02)
    assert sign_flip_p([1.0] * 24, seed=7) > 0


def test_under_the_null_it_rejects_one_in_twenty_whatever_the_shape() -> None:
    random = np.random.default_rng(1)
    # Bimodal differences, as two processes in random modes have: no normal distribution in sight.
    modes = random.choice([-0.25, 0.0, 0.25], (2_000, 11), p=[0.25, 0.5, 0.25])
    draws = modes + random.normal(0, 0.002, modes.shape)
    rejected = np.mean([sign_flip_p(row.tolist(), seed=1) <= 0.05 for row in draws])
    assert 0.03 <= rejected <= 0.065


@given(DIFFERENCES)
def test_the_null_bound_holds_its_share_of_all_signs(differences: list[float]) -> None:
    bound = null_mean_bound(differences, 0.95, seed=1)
    means = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True))) / len(differences)
        for signs in product((1, -1), repeat=len(differences))
    ]
    assert np.mean([mean <= bound + 1e-12 for mean in means]) >= 0.95
    assert 0 <= bound <= max(map(abs, differences)) + 1e-12


def test_the_null_bound_shrinks_as_blocks_are_added() -> None:
    few, many = ([0.01, -0.02, 0.015, -0.01] * times for times in (2, 5))
    assert null_mean_bound(many, 0.95, seed=1) < null_mean_bound(few, 0.95, seed=1) < 0.02


@pytest.mark.parametrize(("pairs", "blocks"), [(1, 6), (45, 11), (190, 13), (435, 15)])
def test_blocks_needed_as_the_protocol_says(pairs: int, blocks: int) -> None:
    """2^(1−B) ≤ 5 % / pairs, for 2, 10, 20 and 30 targets."""
    assert blocks_needed(pairs, 0.05) == blocks
    assert 2.0 ** (1 - blocks) <= 0.05 / pairs < 2.0 ** (2 - blocks)

"""Which processes each block starts, in what order: all of them, or a balanced choice where all don't fit.

With `per_block` each block holds the targets that vouch for it (reference, sentinel and control with their
originals) and so many of the others, chosen so that every target is in as many blocks as any other, give or
take one, and every two meet about equally often. A longer run begins with a shorter one's blocks.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from feedbench.plan import Block, Cell, Process, Round

# Draws of a block among which the one that balances the meetings best is taken.
ATTEMPTS = 40
# Its own stream of random numbers, so that orders are the same with and without a choice.
CHOICE_SEED = 0x5EED_0F_B10C


def make_blocks(
    count: int,
    seed: int,
    *,
    processes: Sequence[Process],
    cells: Sequence[Cell],
    rounds: Sequence[Round],
    always: Collection[str],
    per_block: int | None,
) -> tuple[Block, ...]:
    """`always` are the targets that every block holds; `per_block` None makes every block hold all."""
    stream = random.Random(seed)
    others = [name for name in dict.fromkeys(one.target for one in processes) if name not in always]
    choices = choose(others, len(others) if per_block is None else per_block, seed=seed)
    blocks = []
    for index in range(count):
        block_seed = int(stream.random() * 2**32)
        start_order = _shuffled([process.id for process in processes], stream)
        round_order = _shuffled([entry.id for entry in rounds], stream)
        chosen = {*always, *next(choices)}
        present = {process.id for process in processes if process.target in chosen}
        measured = {cell.id for cell in cells if cell.process in present}
        inhabited = {entry.id for entry in rounds if measured.intersection(entry.cells)}
        blocks.append(
            Block(
                index=index,
                seed=block_seed,
                start_order=tuple(name for name in start_order if name in present),
                round_order=tuple(name for name in round_order if name in inhabited),
            )
        )
    return tuple(blocks)


def choose(names: Sequence[str], size: int, *, seed: int) -> Iterator[tuple[str, ...]]:
    """One choice of `size` names after the other, without end: balanced after each of them."""
    stream = random.Random(seed ^ CHOICE_SEED)
    chosen_before: Counter[str] = Counter()
    meetings: Counter[frozenset[str]] = Counter()
    while True:
        if size >= len(names):
            yield tuple(names)
            continue
        drawn = [_draw(names, size, chosen_before, meetings, stream) for _ in range(ATTEMPTS)]
        best = min(drawn, key=lambda block: _crowding(block, meetings))
        chosen_before.update(best)
        meetings.update(frozenset(pair) for pair in combinations(best, 2))
        yield best


def _draw(
    names: Sequence[str],
    size: int,
    chosen_before: Mapping[str, int],
    meetings: Mapping[frozenset[str], int],
    stream: random.Random,
) -> tuple[str, ...]:
    """Whoever was chosen least often comes first; among them whoever met those already drawn least often."""
    block: list[str] = []
    met = dict.fromkeys(names, 0)
    for _ in range(size):
        name = min(
            (name for name in names if name not in block),
            key=lambda name: (chosen_before[name], met[name], stream.random()),
        )
        block.append(name)
        for other in names:
            met[other] += meetings[frozenset((name, other))]
    return tuple(block)


def _crowding(block: Iterable[str], meetings: Mapping[frozenset[str], int]) -> int:
    """The sum of squares of all meetings grows by 2m + 1 for a pair that met m times: least is most even."""
    return sum(meetings[frozenset(pair)] for pair in combinations(block, 2))


def _shuffled(entries: Iterable[str], stream: random.Random) -> tuple[str, ...]:
    """A random order. Of all that the module offers, only `random()` is promised to stay as it is."""
    return tuple(sorted(entries, key=lambda _: stream.random()))

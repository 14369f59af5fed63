"""The section of a run in which several clients drove several servers: whose differences are they?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedbench.findings import CrossingFinding, LevelEffect, OwnPairs, PartFinding
from feedbench.report.figures.crossing import PARTS, crossing_figures
from feedbench.report.figures.figure import Figure
from feedbench.report.numbers import DASH, ratio_words, share
from feedbench.report.sentences import condition_words, joined, quantile_name
from feedbench.report.tables import Table

TOLD_PAIRS = 2  # in sentences; more are easier to read in a table
WHOSE = {
    "client": "is the client's",
    "server": "the server's",
    "interaction": "that of particular pairings",
    "residual": "chance between repeats",
}


@dataclass(frozen=True)
class CrossingSection:
    """One crossing: a heading, what it says in words, own pairs where they are many, figures and tables."""

    heading: str
    sentences: list[str]
    pairs: Table | None
    figures: list[Figure]
    tables: list[Table]


def crossing_section(crossing: CrossingFinding) -> CrossingSection:
    """Everything about one crossing."""
    told = [condition_words(crossing.fixed)] if crossing.fixed else []
    return CrossingSection(
        heading=", ".join([quantile_name(crossing.quantile), *told]),
        sentences=crossing_sentences(crossing),
        pairs=_pair_table(crossing.own_pairs) if len(crossing.own_pairs) > TOLD_PAIRS else None,
        figures=crossing_figures(crossing),
        tables=_tables(crossing) if crossing.withheld is None else [],
    )


def crossing_sentences(crossing: CrossingFinding) -> list[str]:
    """What the split says, own pairs first, unless a table has them: they are what people compare."""
    left_out = [f"Left out: {joined(crossing.left_out)}."] if crossing.left_out else []
    if crossing.withheld is not None:
        return [f"Nothing is split: {crossing.withheld}.", *left_out]
    told = crossing.own_pairs if len(crossing.own_pairs) <= TOLD_PAIRS else ()
    return [*map(_own_pair, told), _parts(crossing.parts), *left_out]


def _own_pair(own: OwnPairs) -> str:
    first, second = own.pair
    matters = not own.interaction_interval[0] <= 1 <= own.interaction_interval[1]
    interaction = ratio_words(own.interaction, own.interaction_interval)
    asked = f"it is {interaction} times as large under {first}'s client as under {second}'s"
    return (
        f"With its own client {first} takes {ratio_words(own.ratio, own.interval)} times as long as {second} "
        f"with its own: {ratio_words(own.server, own.server_interval)} by the server, times "
        f"{ratio_words(own.client, own.client_interval)} by the client. "
        + (
            f"The servers' ratio depends on who asks: {asked}."
            if matters
            else f"That the servers' ratio depends on who asks was not shown (ratio of ratios {interaction})."
        )
    )


def _parts(parts: Sequence[PartFinding]) -> str:
    words = [
        f"{share(part.share)} [{share(part.interval[0])}, {share(part.interval[1])}] {WHOSE[part.part]}"
        for part in parts
    ]
    missing = [PARTS[part.part].lower() for part in parts if part.p is not None and not part.found]
    doubt = f" Not shown to be there at all: {joined(missing)}." if missing else ""
    return f"Of the variance of log latency within a block {joined(words)}.{doubt}"


def _pair_table(pairs: Sequence[OwnPairs]) -> Table:
    rows = tuple(
        (
            " / ".join(own.pair),
            ratio_words(own.ratio, own.interval),
            ratio_words(own.server, own.server_interval),
            ratio_words(own.client, own.client_interval),
            ratio_words(own.interaction, own.interaction_interval),
        )
        for own in pairs
    )
    return Table(
        "Two libraries, each server asked by its own client: whole = by server × by client. "
        "Last: the servers' ratio under the first client over that under the second",
        ("First / second", "Whole", "By server", "By client", "Depends on who asks"),
        rows,
        frozenset(range(1, 5)),
    )


def _tables(crossing: CrossingFinding) -> list[Table]:
    parts = tuple(
        (
            PARTS[part.part],
            share(part.share),
            f"{share(part.interval[0])} to {share(part.interval[1])}",
            f"×{part.factor:.3f}",
            DASH if part.p is None else f"{part.p:.3g}",
            DASH if part.p_holm is None else f"{part.p_holm:.3g}",
        )
        for part in crossing.parts
    )
    return [
        Table(
            f"Parts of the variance over {crossing.blocks} blocks: intervals by jackknife over blocks, "
            "p by sign flips of whole blocks",
            ("Part", "Share", "95 % interval", "Typical factor", "p", "p (Holm)"),
            parts,
            frozenset(range(1, 6)),
        ),
        _effects("Client", crossing.client_effects),
        _effects("Server", crossing.server_effects),
    ]


def _effects(kind: str, effects: Sequence[LevelEffect]) -> Table:
    rows = tuple(
        (effect.name, ratio_words(effect.ratio, effect.interval))
        for effect in sorted(effects, key=lambda effect: effect.ratio)
    )
    return Table(
        f"{kind}s: latency as a ratio to the mean over all {kind.lower()}s",
        (kind, "Ratio [95 % interval]"),
        rows,
        frozenset({1}),
    )

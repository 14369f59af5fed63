"""The decision report for the terminal: a table of choices, then what else there is to know."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from feedbench.advise.evidence import Choice
from feedbench.advise.need import Need
from feedbench.advise.report import Chosen, Decided, relation_words
from feedbench.report.numbers import DASH, estimate_words, size
from feedbench.units import format_duration

WIDTH = 110


def decided_text(decided: Decided) -> str:
    """As wide as the screen, but wide enough for its table."""
    console = Console(file=io.StringIO(), no_color=True, width=max(WIDTH, shutil.get_terminal_size().columns))
    with console.capture() as captured:
        console.print(Group(*_parts(decided)))
    return captured.get()


def need_words(need: Need) -> str:
    """The need in one sentence."""
    budget = [f"{need.cores:g} cores"] if need.cores is not None else []
    budget += [size(need.memory_bytes)] if need.memory_bytes is not None else []
    streams = f"{need.streams:,} stream{'' if need.streams == 1 else 's'}"
    return (
        f"{streams}, {need.rate_per_s:,.0f} messages/s in all, "
        f"p99 below {format_duration(need.p99_ns)}, at most {need.loss_share:.3%} lost, "
        f"through {' or '.join(need.doors)}{' with deflate' if need.deflate else ''}"
        + (f", within {' and '.join(budget)}" if budget else "")
        + (f", in {' or '.join(need.languages)}" if need.languages else "")
        + (f", payload {need.payload}" if need.payload else "")
    )


def _parts(decided: Decided) -> Iterator[RenderableType]:
    yield Text(f"Asked for: {need_words(decided.need)}.", style="bold")
    if decided.chosen:
        yield _table(decided.chosen)
        for chosen in decided.chosen:
            yield Text(f"{chosen.choice}, in {chosen.source}:")
            yield from (Text(f"  {line}") for line in (*chosen.reasons, *chosen.beside))
    else:
        yield Text("Nothing measured in these runs is shown to meet this.")
    dominated = [
        f"{one.choice}: {one.by} is {relation_words(dict(one.relations))}" for one in decided.dominated
    ]
    yield from _listed("Meets it too, but another is as good or better in everything:", dominated)
    for state, heading in (("fails", "Shown not to meet it:"), ("unknown", "Not known, and not guessed:")):
        lines = [
            f"{verdict.choice}: {'; '.join(verdict.reasons)}"
            for verdict in decided.left_out
            if verdict.state == state
        ]
        yield from _listed(heading, lines)
    yield from _listed("Asked for, and in none of these runs:", decided.absent)
    yield from _listed("How it flips:", [f"{flip.change}: {flip.text}" for flip in decided.flips])
    yield from _listed("Read, but of no use here:", decided.unused)
    yield from _listed("To repeat it, and to know more:", decided.commands)


def _table(choices: Sequence[Chosen]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for heading, justify in (("choice", "left"), ("p99", "right"), ("cores", "right"), ("memory", "right")):
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for chosen in choices:
        table.add_row(
            _name(chosen.choice),
            estimate_words(chosen.p99_ns, chosen.p99_interval_ns),
            DASH if chosen.cores is None else f"{chosen.cores:.2f}",
            size(chosen.memory_bytes),
        )
    return table


def _name(choice: Choice) -> Text:
    return Text(str(choice))


def _listed(heading: str, lines: Sequence[str]) -> Iterator[RenderableType]:
    if lines:
        yield Text(f"\n{heading}", style="bold")
        yield from (Text(f"  {line}") for line in lines)

"""A study from what was counted, wherever and in however many parts that was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from feedbench.pipeline.account import account
from feedbench.pipeline.common import Common
from feedbench.pipeline.ingest import SeriesFiles
from feedbench.pipeline.judge import coarse, series_problems, why_withheld
from feedbench.pipeline.problem import Problem
from feedbench.pipeline.stream import Stream
from feedbench.pipeline.study import ExchangeStudy, SeriesStudy, Study, summarize
from feedbench.pipeline.tally import Tally


def assemble(
    files: Sequence[SeriesFiles],
    tallies: Sequence[Tally],
    common: Mapping[int, Common],
    streams: Mapping[str, Stream],
    *,
    one_clock: bool,
) -> Study:
    """`tallies` in the order of `files`, `common` by the places there, `streams` by exchange."""
    problems = [problem for each in files for problem in each.problems]
    exchanges = []
    for numbers in by_exchange(files):
        exchange, its_problems = _exchange(numbers, files, tallies, common, streams, one_clock=one_clock)
        exchanges.append(exchange)
        problems += its_problems
    return Study(tuple(exchanges), tuple(problems), one_clock)


def by_exchange(files: Sequence[SeriesFiles]) -> Iterator[list[int]]:
    """The numbers of each exchange's series, which follow one another."""
    for _, group in groupby(range(len(files)), key=lambda number: files[number].series.exchange):
        yield list(group)


def _exchange(
    numbers: Sequence[int],
    files: Sequence[SeriesFiles],
    tallies: Sequence[Tally],
    common: Mapping[int, Common],
    streams: Mapping[str, Stream],
    *,
    one_clock: bool,
) -> tuple[ExchangeStudy, list[Problem]]:
    ages = {number: tallies[number].ages() for number in numbers}
    series = tuple(
        SeriesStudy(
            files[number].series,
            account(files[number], tallies[number], common[number]),
            summarize(common[number].ages) if common[number].ages.count else None,
        )
        for number in numbers
    )
    problems = [
        problem
        for number, each in zip(numbers, series, strict=True)
        for problem in series_problems(each.series, each.account, ages[number])
    ]
    name = files[numbers[0]].series.exchange
    withheld = why_withheld(name, list(ages.values()), common[numbers[0]].ages.count, one_clock=one_clock)
    medians = [each.summary.box_ms.extremes.median for each in series if each.summary is not None]
    near = coarse(name, [float(median) for median in medians])
    problems += [problem for problem in (withheld, near) if problem is not None]
    return ExchangeStudy(name, streams.get(name), series, withheld.what if withheld else None), problems

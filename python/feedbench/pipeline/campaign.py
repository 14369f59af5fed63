"""The pipeline from files or a run directory to results on disk, for the command line and the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from feedbench.errors import FeedbenchError
from feedbench.feed.received import SUFFIXES
from feedbench.feed.settings import EXCHANGE_FACTOR, Feed
from feedbench.papers import read_paper
from feedbench.paths import Project, RunDirectory
from feedbench.pipeline.dialect import exchange_of
from feedbench.pipeline.partitions.order import CrewOrder
from feedbench.pipeline.progress import Say, Stage, quiet, silent
from feedbench.pipeline.run import Options, run_pipeline
from feedbench.pipeline.series import Series
from feedbench.pipeline.setting import Setting, setting_of_run
from feedbench.pipeline.source import Source, find_sources, sources_of
from feedbench.pipeline.study import Study
from feedbench.pipeline.write import write_study
from feedbench.plan import Plan, read_plan

FOLDER = "pipeline"


@dataclass(frozen=True)
class Result:
    """A study, and the folder that its files are in."""

    study: Study
    folder: Path


def has_studies(plan: Plan) -> bool:
    """Whether it lets all clients of an exchange follow it at the same time, as the paper did."""
    return any(_is_parallel(condition.load.feed) for condition in plan.conditions)


def analyze_run(
    run: RunDirectory, *, crew: CrewOrder | None = None, stage: Stage = quiet, say: Say = silent
) -> list[Result]:
    """A study for each combination of the run's other factors than the exchange, in its folder pipeline/.

    All clients of a run read one host's clock. Sentinel and control are no contenders, and left out.
    FeedbenchError when no client left a file.
    """
    plan = read_plan(run.plan)
    setting = setting_of_run(run)
    sources = _by_condition(run, plan)
    if not sources:
        raise FeedbenchError(
            "no clients followed an exchange together and left a record",
            where=str(run.path),
            hint='that takes [feed] design = "parallel"',
        )
    results = []
    for name, files in sources.items():
        out = run.path / FOLDER / name if len(sources) > 1 else run.path / FOLDER
        results.append(_analyze(files, setting, out, Options(one_clock=True, crew=crew), stage, say))
    return results


def analyze_files(
    arguments: Sequence[str],
    out: Path,
    *,
    one_clock: bool = False,
    crew: CrewOrder | None = None,
    stage: Stage = quiet,
    say: Say = silent,
) -> Result:
    """Of files and folders (see source.py), into `out`."""
    sources = find_sources(arguments)
    names = ", ".join(Path(argument).name for argument in arguments)
    options = Options(one_clock=one_clock, crew=crew)
    return _analyze(sources, Setting(f"the files {names}"), out, options, stage, say)


def _analyze(
    sources: Sequence[Source], setting: Setting, out: Path, options: Options, stage: Stage, say: Say
) -> Result:
    study = run_pipeline(sources, out, options, stage, say)
    paper = read_paper(Project.find().root / "papers" / "papik.toml")
    write_study(study, setting, paper, out)
    return Result(study, out)


def _is_parallel(feed: Feed | None) -> bool:
    return feed is not None and feed.design == "parallel"


def _by_condition(run: RunDirectory, plan: Plan) -> Mapping[str, list[Source]]:
    """The clients' files by the factors that all exchanges of a study have in common."""
    found: dict[str, list[Source]] = {}
    for name, series, folder in _cells(run, plan):
        paths = [
            path for suffix in sorted(set(SUFFIXES.values())) for path in sorted(folder.glob(f"*{suffix}"))
        ]
        if paths:
            found.setdefault(name, []).extend(sources_of(series, paths))
    return found


def _cells(run: RunDirectory, plan: Plan) -> Iterator[tuple[str, Series, Path]]:
    """What each cell of each block is a part of, whose it is, and its folder."""
    for cell in plan.cells:
        condition = plan.condition(cell.condition)
        feed = condition.load.feed
        if feed is None or not _is_parallel(feed) or cell.copy is not None:
            continue
        varied = {key: value for key, value in condition.factors.items() if key != EXCHANGE_FACTOR}
        name = ",".join(f"{key}={value}" for key, value in varied.items()) or "all"
        series = Series(_exchange(feed), cell.process)
        for block in plan.blocks:
            yield name, series, run.cell(block.index, cell.id)


def _exchange(feed: Feed) -> str:
    """By a name that tells how it speaks."""
    known = exchange_of(feed.exchange) == feed.personality
    return feed.exchange if known else f"{feed.personality}-{feed.exchange}"

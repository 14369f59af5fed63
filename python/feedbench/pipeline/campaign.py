"""The pipeline from files or a run directory to results on disk, for the command line and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from feedbench.papers import read_paper
from feedbench.paths import Project, RunDirectory
from feedbench.pipeline.run import Options, Stage, quiet, run_pipeline
from feedbench.pipeline.setting import Setting, setting_of_run
from feedbench.pipeline.source import Source, find_sources
from feedbench.pipeline.study import Study
from feedbench.pipeline.write import write_study


def is_run(path: Path) -> bool:
    """Whether it is the directory of a run, rather than just a folder with files of clients."""
    return (path / "plan.json").is_file() and (path / "blocks").is_dir()


def analyze_run(run: Path, out: Path | None = None, *, stage: Stage = quiet) -> Study:
    """Of a run directory's blocks/, into its pipeline/. All clients of a run read one host's clock."""
    directory = RunDirectory(run)
    sources = find_sources([str(run / "blocks")])
    return _analyze(
        sources, setting_of_run(directory), out or run / "pipeline", Options(one_clock=True), stage
    )


def analyze_files(
    arguments: Sequence[str], out: Path, *, one_clock: bool = False, stage: Stage = quiet
) -> Study:
    """Of files and folders (see source.py), into `out`."""
    sources = find_sources(arguments)
    names = ", ".join(Path(argument).name for argument in arguments)
    return _analyze(sources, Setting(f"the files {names}"), out, Options(one_clock=one_clock), stage)


def _analyze(sources: Sequence[Source], setting: Setting, out: Path, options: Options, stage: Stage) -> Study:
    study = run_pipeline(sources, out, options, stage)
    paper = read_paper(Project.find().root / "papers" / "papik.toml")
    write_study(study, setting, paper, out)
    return study

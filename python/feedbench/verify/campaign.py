"""Many targets examined, several at a time, each by a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from feedbench.paths import Project
from feedbench.registry import Registry
from feedbench.target import Target
from feedbench.verify.case import Case
from feedbench.verify.examination import examine
from feedbench.verify.verdicts import Verdicts


def examine_all(
    targets: Sequence[Target],
    cases: Sequence[Case],
    *,
    project: Project,
    registry: Registry,
    jobs: int,
) -> Iterator[tuple[Target, Verdicts]]:
    """As each is done. An examination waits more than it works, and its servers are processes anyway."""
    with ProcessPoolExecutor(max_workers=jobs, mp_context=get_context("spawn")) as pool:
        started: dict[Future[Verdicts], Target] = {
            pool.submit(
                examine,
                target,
                cases,
                project=project,
                log=project.scratch / "logs" / f"verify-{target.id}.log",
                version=registry.states[target.name].version,
            ): target
            for target in targets
        }
        for done in as_completed(started):
            yield started[done], done.result()

"""Who answers wrongly is not timed: the echo cases of the conformance suite, before the first block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from feedbench.paths import Project, RunDirectory
from feedbench.receipt import read_receipt
from feedbench.registry import Registry
from feedbench.target import Target
from feedbench.verify.case import read_cases
from feedbench.verify.conformance import write_conformance
from feedbench.verify.examination import examine
from feedbench.verify.verdicts import Verdicts, read_verdicts, write_verdicts

# What the load consists of; how a server treats broken frames is `feedbench verify`'s business.
FAMILY = "echo."
READY_DEADLINE_S = 60.0


def wrong_servers(
    targets: Iterable[str],
    *,
    directory: RunDirectory,
    registry: Registry,
    project: Project,
    say: Callable[[str], None],
    verify: Callable[[str], Verdicts] | None = None,
) -> dict[str, str]:
    """By target, which echo cases it fails and how. Verdicts go into the run directory and are not asked for
    twice; what is known of all other cases goes there, too. `verify` puts a target through them elsewhere.
    """
    targets = list(targets)
    write_conformance(directory.conformance, [registry.get(name) for name in targets])
    wrong: dict[str, str] = {}
    for name in targets:
        path = directory.verdicts(name)
        if path.exists():
            verdicts = read_verdicts(path)
        else:
            version = read_receipt(directory.receipt(name)).version
            here = partial(examine_target, project=project, version=version)
            verdicts = verify(name) if verify is not None else here(registry.get(name))
            write_verdicts(path, verdicts)
        if (reason := complaint(verdicts)) is not None:
            wrong[name] = reason
        say(f"{name}: verified" if name not in wrong else f"{name}: not verified")
    return wrong


def examine_target(target: Target, *, project: Project, version: str | None) -> Verdicts:
    """Puts one target through the echo cases, on this machine."""
    cases = [case for case in read_cases(project.root / "conformance" / "ws") if case.id.startswith(FAMILY)]
    return examine(
        target,
        cases,
        project=project,
        log=project.scratch / "logs" / f"verify-{target.id}.log",
        version=version,
        # Verifying has no shield: on a busy machine a start may take long, which is not the target's fault.
        ready_deadline_s=READY_DEADLINE_S,
    )


def complaint(verdicts: Verdicts) -> str | None:
    """What a server does wrong, with the first case as an example; None when nothing."""
    failed = [case for case in verdicts.cases if case.verdict == "fail"]
    if not failed:
        return None
    first = f"it fails {failed[0].id}: {failed[0].detail}"
    return first if len(failed) == 1 else f"{first} (and {len(failed) - 1} more)"

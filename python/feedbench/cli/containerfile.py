"""`feedbench containerfile`: a target's server for a container, as a file."""

from __future__ import annotations

from typing import Annotated

import typer

from feedbench.build import SUPPORT
from feedbench.cli.common import say
from feedbench.containerfile import ENGINES, containerfile, running_engine
from feedbench.paths import Project
from feedbench.registry import discover


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""

    @app.command("containerfile", short_help="Print a Containerfile made from a target's manifest.")
    def print_containerfile(
        name: Annotated[str, typer.Argument(metavar="TARGET", help="Its name, like go/gorilla.")],
    ) -> None:
        """Print a Containerfile made from a target's manifest.

        Nothing is built, and nothing that feedbench measures runs in a container.
        """
        project = Project.find()
        target = discover(project, probe=lambda need: None).get(name)
        shares_code = (target.folder.parent / SUPPORT).is_dir()
        print(containerfile(target, shares_code=shares_code), end="")
        engine = running_engine()
        if engine is None:
            say(f"not built: no container engine runs here ({' or '.join(ENGINES)})")
        else:
            say(f"not built yet; in {project.root}: feedbench containerfile {name} | {engine} build -f - .")

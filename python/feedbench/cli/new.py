"""`feedbench new`: a target to begin with."""

from __future__ import annotations

from typing import Annotated

import typer

from feedbench.cli.common import say
from feedbench.new_target import create
from feedbench.paths import Project
from feedbench.registry import discover


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    new = typer.Typer(no_args_is_help=True, help="Begin something new from what is there.")
    app.add_typer(new, name="new")

    @new.callback()
    def choose() -> None:
        """Begin something new from what is there."""

    @new.command()
    def target(
        name: Annotated[
            str, typer.Argument(metavar="LANGUAGE/LIBRARY", help="The new target, like go/nhooyr.")
        ],
        like: Annotated[
            str | None,
            typer.Option(
                metavar="NAME", help="Copy this one, not the nearest neighbour.", show_default=False
            ),
        ] = None,
    ) -> None:
        """Copy the nearest neighbour (the smallest target of the same language) and say what to edit next."""
        project = Project.find()
        made = create(name, discover(project), project=project, like=like)
        print(made.folder.relative_to(project.root))
        say(f"copied from {made.copied_from}. Now change what still speaks of it:")
        for mention in made.mentions:
            say(f"  {mention.file.relative_to(project.root)}:{mention.line}: {mention.text}")
        say("then the lock file, language, notes, knobs and options in target.toml, and:")
        say(f"  feedbench build {name} && feedbench verify {name}")

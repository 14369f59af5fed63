"""The command line: one sub-command a stage, one module a sub-command.

Data goes to stdout, talk to stderr. A FeedbenchError becomes one clear line and status 1.
"""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from feedbench.errors import FeedbenchError

# In the order of the flow; `feedbench --help` lists them so.
COMMANDS = (
    "targets",
    "doctor",
    "plan",
    "build",
    "verify",
    "run",
    "analyze",
    "report",
    "compare",
    "advise",
    "agree",
    "ramp",
    "capacity",
    "wire",
    "load",
    "ceiling",
    "exchange",
    "path",
    "latency",
    "record",
    "pipeline",
    "supervise",
    "status",
    "cluster",
    "worker",
    "paper",
    "new",
    "containerfile",
)

app = typer.Typer(
    name="feedbench",
    help="Measures how long market data takes to reach a program, and what each language, library and "
    "transport costs.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _name in COMMANDS:
    import_module(f"feedbench.cli.{_name}").register(app)


def main() -> None:
    """The entry point of `feedbench`."""
    try:
        app()
    except FeedbenchError as error:
        print(f"feedbench: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("feedbench: interrupted; what was measured is kept", file=sys.stderr)
        sys.exit(130)

"""All checks of one study."""

from __future__ import annotations

from feedbench.papers.finding import Finding
from feedbench.papers.named_checks import check_named
from feedbench.papers.row_checks import check_rows
from feedbench.papers.study import Paper


def check_paper(paper: Paper) -> list[Finding]:
    """The laws that each row has to keep, then the checks that the study's file names."""
    return [*check_rows(paper), *check_named(paper)]

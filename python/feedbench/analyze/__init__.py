"""From raw samples to findings: blocks, controls, decisions, ranks, and what to make of them
(METHODOLOGY.md).

Each file holds one noun; all but `evidence`, `campaign` and `tables` are pure functions over values.
"""

from feedbench.analyze.campaign import analyze_run
from feedbench.analyze.findings import Findings
from feedbench.analyze.view import ranking_text, render_ranking

__all__ = ["Findings", "analyze_run", "ranking_text", "render_ranking"]

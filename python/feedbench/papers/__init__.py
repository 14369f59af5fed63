"""Published studies as data (papers/*.toml), and the arithmetic that they pass or fail.

study           the tables, statements, checks and defects of one file
interval        a printed number and what it may have been before it was rounded
expression      the small language of arithmetic in which a check names its numbers
row_checks      laws that every row of a load test's table has to keep
named_checks    what else a file asks to be checked, with its parameters
table_checks    the checks of whole tables: order, box plots, repeated cells, scores
scores          Papík's scoring model, for printed and for measured five-number summaries
reproduction    a run's own numbers beside the printed ones
page            one study as text, as Markdown and as JSON
"""

from feedbench.papers.check import check_paper
from feedbench.papers.finding import Finding, Outcome
from feedbench.papers.study import Defect, Paper, PublishedTable, Row, Statement, read_paper

__all__ = [
    "Defect",
    "Finding",
    "Outcome",
    "Paper",
    "PublishedTable",
    "Row",
    "Statement",
    "check_paper",
    "read_paper",
]

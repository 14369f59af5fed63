"""The page's content as a value: which words, tables and figures stand in which section. No HTML here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from feedbench.findings import (
    Advice,
    CellFinding,
    CrossingFinding,
    Findings,
    ImpossibleFinding,
    NotMeasured,
    OptionsFinding,
    QuestionFinding,
)
from feedbench.findings.whole import Severity
from feedbench.report import sentences
from feedbench.report.crossing import CrossingSection, crossing_section
from feedbench.report.doors import DoorsSection, doors_section
from feedbench.report.facts import facts
from feedbench.report.figures.blocks import block_figures
from feedbench.report.figures.clients import client_figures
from feedbench.report.figures.distribution import distribution_figures
from feedbench.report.figures.figure import Figure, slug
from feedbench.report.figures.matrix import matrix_figures
from feedbench.report.figures.paired import paired_figures
from feedbench.report.figures.ranking import ranking_figures
from feedbench.report.figures.resources import resource_figures
from feedbench.report.figures.series import Series
from feedbench.report.glossary import GLOSSARY
from feedbench.report.paper import PaperSection, paper_section
from feedbench.report.relays import RelaySection, relay_section
from feedbench.report.reversals import reversal_table, reversal_words
from feedbench.report.sentences import Badge, Mood
from feedbench.report.tables import (
    Table,
    cell_table,
    conformance_table,
    decision_table,
    failure_table,
    gate_tables,
    options_table,
    rank_table,
    target_table,
)
from feedbench.verify.conformance import Conformance

if TYPE_CHECKING:  # it brings in the whole analysis, which only a paper's page needs
    from feedbench.papers import Paper

# Up to so many questions each get every figure; beyond, each gets its ranking and percentiles, folded.
WHOLE_QUESTIONS = 6
# Beyond so many, their tables only: the page would grow past what a browser opens gladly.
DRAWN_QUESTIONS = 16

ADVICE_MOODS: Mapping[Severity, Mood] = {"note": "silent", "caution": "caution", "warning": "bad"}


@dataclass(frozen=True)
class Sentence:
    conditions: list[str]
    text: str


@dataclass(frozen=True)
class Notice:
    label: str
    mood: Mood
    text: str


@dataclass(frozen=True)
class QuestionSection:
    """One question with all that belongs to it; `open`: unfolded when the page opens."""

    anchor: str
    text: str
    condition: str
    detail: str
    badges: list[Badge]
    ranking: list[Figure]
    tables: list[Table]
    more: list[Figure]
    gates: list[Table]
    open: bool


@dataclass(frozen=True)
class Content:
    """Everything on the page, in its order."""

    title: str
    run: str
    question: str
    answers: list[Sentence]
    badges: list[Badge]
    turned: Table | None
    headline: list[Figure]
    refused: Sequence[ImpossibleFinding]
    doors: DoorsSection | None
    crossings: list[CrossingSection]
    relays: RelaySection | None
    paired: list[Figure]
    questions: list[QuestionSection]
    clients: list[Figure]
    resources: list[Figure]
    studies: list[str]
    paper: PaperSection | None
    cells: Table
    failures: Table | None
    differences: Sequence[OptionsFinding]
    options: Table
    targets: Table | None
    conformance: Table | None
    not_measured: Sequence[NotMeasured]
    advice: list[Notice]
    analysis: list[str]
    host: list[tuple[str, str]]
    commands: list[str]
    protocol: list[tuple[str, str]]
    files: list[str]
    glossary: Sequence[tuple[str, str]]

    @property
    def figures(self) -> list[Figure]:
        """Every figure, once."""
        inside = [figure for section in self.questions for figure in (*section.ranking, *section.more)]
        through = self.doors.figures if self.doors else []
        crossed = [figure for section in self.crossings for figure in section.figures]
        groups = [self.paper.printed, *self.paper.measured] if self.paper else []
        beside = [figure for group in groups for figure in group.figures]
        return [
            *self.headline,
            *through,
            *crossed,
            *self.paired,
            *inside,
            *self.clients,
            *beside,
            *self.resources,
        ]

    @property
    def sections(self) -> list[tuple[str, str]]:
        """Anchor and label of what the page has, for its navigation."""
        candidates = (
            ("answer", "Answer", True),
            ("refused", "Refused", bool(self.refused)),
            ("paper", "The paper", self.paper is not None),
            ("doors", self.doors.heading if self.doors else "Doors", self.doors is not None),
            ("crossings", "Client or server", bool(self.crossings)),
            ("relays", "Relays", self.relays is not None),
            ("paired", "Pair by pair", bool(self.paired)),
            ("questions", "Questions" if len(self.questions) > 1 else "Ranking", bool(self.questions)),
            ("clients", "Clients", bool(self.clients)),
            ("resources", "Cost", bool(self.resources)),
            ("cells", "Every cell", True),
            ("ran", "What ran", True),
            ("notes", "Notes", True),
            ("host", "Host", True),
            ("repeat", "Do it again", True),
            ("reading", "How to read this", True),
        )
        return [(anchor, label) for anchor, label, present in candidates if present]


def content(
    findings: Findings,
    *,
    scenario: Mapping[str, Any],
    plan: Mapping[str, Any],
    host: Mapping[str, Any],
    files: Sequence[str],
    studies: Sequence[str] = (),
    paper: Paper | None = None,
    conformance: Mapping[str, Conformance] | None = None,
) -> Content:
    """The page's content; `scenario`, `plan`, `host` and `conformance` are the run directory's, or empty.
    `studies` are the pages of Papík's analysis, relative to this one.
    """
    headline = sentences.headline_question(findings)
    quantile = headline.quantiles[0] if headline and headline.quantiles else "p50"
    return Content(
        title=findings.title or findings.scenario,
        run=findings.run,
        question=str(scenario.get("question", "")),
        answers=_answers(findings),
        badges=sentences.badges(headline, findings.cells, complete=findings.complete) if headline else [],
        turned=reversal_table(findings),
        headline=ranking_figures(headline)[:1] if headline and headline.compare == "target" else [],
        refused=findings.impossible,
        doors=doors_section(findings.doors),
        crossings=[_crossing_section(crossing) for crossing in findings.crossings],
        relays=relay_section(findings),
        paired=arranged(paired_figures(findings)),
        questions=[
            _question_section(question, findings, headline, conformance or {})
            for question in findings.questions
        ],
        clients=[] if paper else arranged(_client_figures(findings, quantile)),
        resources=arranged(resource_figures(findings.cells)),
        studies=list(studies),
        paper=paper_section(paper, findings.cells) if paper else None,
        cells=cell_table(findings.cells, counted="Events" if findings.is_of_feeds else "Round trips"),
        failures=failure_table(findings.cells),
        differences=findings.options_differences,
        options=options_table(findings.cells),
        targets=target_table(findings.targets),
        conformance=conformance_table(conformance or {}),
        not_measured=findings.not_measured,
        advice=[_notice(item) for item in findings.advice],
        analysis=[paragraph.strip() for paragraph in findings.analysis.split("\n\n") if paragraph.strip()],
        host=facts(host),
        commands=_commands(findings),
        protocol=facts({"seed": plan.get("seed"), **plan.get("protocol", {})}),
        files=list(files),
        glossary=GLOSSARY,
    )


def _crossing_section(crossing: CrossingFinding) -> CrossingSection:
    section = crossing_section(crossing)
    return replace(section, figures=arranged(section.figures))


def _client_figures(findings: Findings, quantile: str) -> list[Figure]:
    return client_figures(findings.cells, Series.of_targets(findings.cells), quantile)


def _answers(findings: Findings) -> list[Sentence]:
    """The answer of each question; of many, those of the first few, since nobody reads thirty."""
    if not findings.questions:
        return [Sentence([], "Nothing could be compared: no cell gave a result. The causes are below.")]
    several = len(findings.questions) > 1
    shown = findings.questions[:WHOLE_QUESTIONS]
    conditions: dict[str, list[str]] = {}  # by answer: equal answers are told once
    for question in shown:
        words = [sentences.condition_words(question.fixed)] if several and question.fixed else []
        conditions.setdefault(_answer(question), []).extend(words)
    answers = [Sentence(words, text) for text, words in conditions.items()]
    if len(shown) < len(findings.questions):
        rest = len(findings.questions) - len(shown)
        answers.append(Sentence([], f"{rest} more questions are answered below."))
    turned = reversal_words(findings)
    return [*answers, Sentence([], turned)] if turned else answers


def _answer(question: QuestionFinding) -> str:
    if question.compare == "target":
        return sentences.answer(question)
    return sentences.comparison(question)


def _question_section(
    question: QuestionFinding,
    findings: Findings,
    headline: QuestionFinding | None,
    conformance: Mapping[str, Conformance],
) -> QuestionSection:
    cells = question_cells(question, findings)
    by_target = question.compare == "target"
    series = Series.of_targets(findings.cells) if by_target else Series.of_factor(cells, question.compare)
    quantity = sentences.quantity_name(question.quantity)
    distributions = distribution_figures(question.id, cells, series, quantity)
    whole = len(findings.questions) <= WHOLE_QUESTIONS
    ranking = ranking_figures(question) if by_target else []
    more = distributions[:1]
    if len(findings.questions) > DRAWN_QUESTIONS:
        ranking, more = [], []
    elif whole:
        more = matrix_figures(question) if by_target else []
        more += distributions
        more += block_figures(question.id, cells, series, question.quantiles[0])
    is_headline = headline is not None and question.id == headline.id
    tables = (rank_table(question, conformance), None if by_target and whole else decision_table(question))
    return QuestionSection(
        anchor=slug(question.id),
        text=question.text,
        condition=sentences.condition_words(question.fixed),
        detail="" if whole else _answer(question),
        badges=[] if is_headline else sentences.badges(question, findings.cells, complete=True),
        ranking=arranged(ranking[is_headline:] if whole else ranking[:1]),
        tables=[table for table in tables if table is not None],
        more=arranged(more),
        gates=gate_tables(question),
        open=is_headline or len(findings.questions) <= 2,
    )


def arranged(figures: Sequence[Figure]) -> list[Figure]:
    """Two narrow figures stand side by side; one without a partner takes the whole column."""
    placed: list[Figure] = []
    waiting = False  # is the last placed figure narrow and alone in its row?
    for figure in figures:
        if figure.wide and waiting:
            placed[-1] = replace(placed[-1], wide=True)
        waiting = not figure.wide and not waiting
        placed.append(figure)
    if waiting:
        placed[-1] = replace(placed[-1], wide=True)
    return placed


def question_cells(question: QuestionFinding, findings: Findings) -> list[CellFinding]:
    """The cells that answer a question, with the copies that guard it."""
    named = {entry.cell for entry in question.ranking} | {
        cell for each in question.decisions for cell in each.cells
    }
    targets = {cell.target for cell in findings.cells if cell.cell in named}
    return [
        cell
        for cell in findings.cells
        if all(_held(cell, key) == value for key, value in question.fixed.items())
        and (question.compare == "target" or cell.target in targets)
    ]


def _held(cell: CellFinding, key: str) -> Any:
    """What a cell has for a key of a question's `fixed`, which may hold the target as well as factors."""
    return cell.target if key == "target" else cell.factors.get(key)


def _notice(item: Advice) -> Notice:
    return Notice(item.code.replace("_", " ").capitalize(), ADVICE_MOODS[item.severity], item.text)


def _commands(findings: Findings) -> list[str]:
    return [
        findings.repeat,
        f"feedbench analyze runs/{findings.run}    # the findings anew, from the raw samples",
        f"feedbench report runs/{findings.run}     # this page anew, from the findings",
    ]

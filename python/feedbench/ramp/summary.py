"""A campaign in one table: how far each target came, how long it took, where it broke."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from feedbench.ramp.averages import Target, by_target, connection_s, request_s
from feedbench.ramp.campaign import Campaign
from feedbench.ramp.figures import ramp_figures
from feedbench.ramp.page import ramp_page
from feedbench.ramp.record import Repeat, read_repeat
from feedbench.ramp.study import write_csv, write_study_files
from feedbench.report.render import write_figures

HEAD = (
    "target",
    "repeats",
    "rounds",
    "connections",
    "broke_in_round",
    "lost_share",
    "connecting_s",
    "requests_s",
    "answers_per_s",
    "last_whole_p50_ms",
    "last_whole_p95_ms",
    "last_whole_p99_ms",
    "target_rss_bytes",
    "engine_idle_bytes_per_connection",
    "engine_burst_bytes_per_connection",
    "leaked_descriptors",
)


def read_repeats(campaign: Campaign, run: Path) -> list[Repeat]:
    """All that is on record, targets in the campaign's order."""
    return [
        read_repeat(run, target, number)
        for target in campaign.targets
        for number in range(1, campaign.repeats + 1)
    ]


def write_results(
    campaign: Campaign, run: Path, *, study_folder: Path, left_out: Mapping[str, str]
) -> list[Target]:
    """The study's CSV files, summary.csv, .md and .html, and figures/; gives back what was measured."""
    repeats = read_repeats(campaign, run)
    targets = by_target(repeats)
    write_study_files(study_folder, repeats)
    table = [summary_row(target) for target in targets]
    write_csv(run / "summary.csv", HEAD, table)
    (run / "summary.md").write_text(
        "\n".join(_markdown(campaign, repeats, table, left_out)) + "\n", encoding="utf-8"
    )
    figures = ramp_figures(targets)
    drawings = write_figures(run / "figures", figures)
    page = ramp_page(
        campaign, run.name, targets, figures=figures, drawings=drawings, remarks=_remarks(repeats, left_out)
    )
    (run / "summary.html").write_text(page, encoding="utf-8")
    return targets


def summary_row(target: Target) -> list[str]:
    """Averages over the repeats; of rounds that broke, all numbers."""
    repeats = target.repeats
    last = [repeat.rounds[-1] for repeat in repeats]
    whole = [repeat.last_whole for repeat in repeats if repeat.last_whole is not None]
    leaked = [repeat.leaked_descriptors for repeat in repeats if repeat.leaked_descriptors is not None]
    answered = [sum(round.answered for round in repeat.rounds) for repeat in repeats]
    requests = [sum(round.requests for round in repeat.rounds) for repeat in repeats]
    seconds = target.total(request_s).value
    memory = [repeat.end["connection_memory"] for repeat in repeats if repeat.end]
    rss = [round.target_rss_bytes for round in last if round.target_rss_bytes]
    return [
        target.name,
        str(len(repeats)),
        "/".join(str(len(repeat.rounds)) for repeat in repeats),
        str(target.most_connections),
        "/".join(str(repeat.broken_round or "-") for repeat in repeats),
        f"{1 - sum(answered) / sum(requests):.6f}",
        f"{target.total(connection_s).value:.3f}",
        f"{seconds:.3f}",
        f"{fmean(answered) / seconds:.0f}" if seconds else "",
        *(_ms([round.latency_ns.get(name) for round in whole]) for name in ("p50", "p95", "p99")),
        str(round(fmean(rss))) if rss else "",
        str(max((entry["idle_bytes"] for entry in memory), default="")),
        str(max((entry["burst_bytes"] for entry in memory), default="")),
        str(sum(leaked)) if leaked else "",
    ]


def _ms(values: Iterable[float | None]) -> str:
    present = [value for value in values if value is not None]
    return f"{fmean(present) / 1e6:.3f}" if present else ""


def _markdown(
    campaign: Campaign, repeats: Sequence[Repeat], table: Sequence[Sequence[str]], left_out: Mapping[str, str]
) -> Iterable[str]:
    yield f"# {campaign.title}\n\n{campaign.question}\n\n{campaign.in_words}\n"
    if table:
        yield "| " + " | ".join(name.replace("_", " ") for name in HEAD) + " |"
        yield "|" + "---|" * len(HEAD)
        yield from ("| " + " | ".join(row) + " |" for row in table)
    yield from (f"\n{remark}" for remark in _remarks(repeats, left_out))
    yield f"\n{campaign.analysis.strip()}"


def _remarks(repeats: Sequence[Repeat], left_out: Mapping[str, str]) -> list[str]:
    """What the table does not say, a line each."""
    told = [(repeat, _remark(repeat)) for repeat in repeats]
    return [
        *(f"{repeat.target}, repeat {repeat.number}: {remark}." for repeat, remark in told if remark),
        *(f"{target}: left out, {reason}" for target, reason in left_out.items()),
    ]


def _remark(repeat: Repeat) -> str | None:
    """What a reader has to know of one repeat."""
    if repeat.failure is not None:
        return f"not measured, {repeat.failure}"
    if repeat.end is None:
        return f"cut short after {len(repeat.rounds)} rounds" if repeat.rounds else None
    if repeat.end["descriptors"]["leaked"]:
        return "the engine left descriptors open, so its figures are not to be used"
    if (broken := repeat.end["broken"]) is not None:
        return (
            f"broke in round {broken['round']} with {broken['connections']} connections, "
            f"{broken['lost_share']:.1%} lost ({broken['cause']})"
        )
    return None

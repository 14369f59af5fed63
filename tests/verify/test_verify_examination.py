"""A fake server under examination: found out whenever it misbehaves, with a verdict for every case."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from feedbench.launch import Server, serve
from feedbench.paths import Project
from feedbench.target import Target, read_target
from feedbench.verify import server_examination
from feedbench.verify.attempt import Attempt, verdict_on
from feedbench.verify.case import Case, read_cases
from feedbench.verify.departure import DepartureError
from feedbench.verify.examination import examine
from feedbench.verify.server_examination import STARTS
from feedbench.verify.server_peer import ServerPeer
from feedbench.verify.verdicts import (
    CaseVerdict,
    Verdicts,
    differences,
    read_expected,
    read_verdicts,
    write_expected,
    write_verdicts,
)

PROJECT = Project.find(Path(__file__).parent)
CASES = {case.id: case for case in read_cases(PROJECT.root / "conformance" / "ws")}


@pytest.fixture(scope="module")
def fake() -> Target:
    return read_target(PROJECT.targets / "_fake/echo", root=PROJECT.targets)


def some_cases(*ids: str) -> list[Case]:
    return [CASES[name] for name in ids]


def with_knobs(target: Target, **knobs: str) -> Target:
    """The target as it is when these knobs are set: the examination itself leaves all at their defaults."""
    assert target.server_command is not None
    settings = [f"FEEDBENCH_{knob.upper()}={value}" for knob, value in knobs.items()]
    return replace(target, server_command=("env", *settings, *target.server_command))


@pytest.mark.end_to_end
def test_the_verdicts_on_the_fake_are_the_expected_ones(fake: Target, tmp_path: Path) -> None:
    verdicts = examine(fake, list(CASES.values()), project=PROJECT, log=tmp_path / "log", version="1.0.0")
    assert differences(verdicts, read_expected(fake)) == []
    assert verdicts.count("pass") > 30


@pytest.mark.end_to_end
def test_a_case_that_could_slow_a_server_down_has_one_to_itself(
    fake: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = []

    def counted(*arguments: Any, **more: Any) -> AbstractContextManager[Server]:
        starts.append(arguments)
        return serve(*arguments, **more)

    monkeypatch.setattr(server_examination, "serve", counted)
    cases = some_cases("echo.text.0", "burst.10000-order", "echo.text.125", "burst.10000-empty")
    verdicts = examine(fake, cases, project=PROJECT, log=tmp_path / "log")
    assert [case.verdict for case in verdicts.cases] == ["pass"] * 4
    assert len(starts) == 3


@pytest.mark.end_to_end
def test_what_the_rfc_leaves_open_is_tried_alone_too_before_it_counts_as_unsupported(
    fake: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    honest = Attempt.of

    def departing_at_first(case: Case, peer: ServerPeer) -> Attempt:
        tried.append(case.id)
        if tried.count(case.id) == 1:
            return Attempt(case, verdict_on(case, DepartureError("the connection broke")), departed=True)
        return honest(case, peer)

    monkeypatch.setattr(Attempt, "of", departing_at_first)
    (case,) = some_cases("control.ping.thousand")
    assert case.level == "may"
    (verdict,) = examine(fake, [case], project=PROJECT, log=tmp_path / "log").cases
    assert tried == [case.id] * 2
    assert verdict.verdict == "pass"
    assert verdict.detail == "alone; beside other connections: MAY: the connection broke"


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"lie_every": "7"}, "instead of"),
        ({"reorder_every": "100"}, "instead of"),
        ({"drop_every": "100"}, "instead of"),
        ({"duplicate_every": "100"}, "instead of"),
        ({"die_after": "500"}, "ended with status"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_fault_in_a_burst_is_found_out(
    fake: Target, tmp_path: Path, knobs: dict[str, str], told: str
) -> None:
    faulty = with_knobs(fake, **knobs)
    cases = some_cases("burst.10000-order", "echo.text.0")
    verdicts = examine(faulty, cases, project=PROJECT, log=tmp_path / "log", at_once=1)
    assert verdicts.cases[0].verdict == "fail"
    assert told in (verdicts.cases[0].detail or "")
    assert verdicts.cases[1] == CaseVerdict("echo.text.0", "pass", None), "the next case has a fresh start"


@pytest.mark.end_to_end
def test_a_server_that_dies_in_every_case_is_given_up_with_a_verdict_for_each(
    fake: Target, tmp_path: Path
) -> None:
    cases = [replace(CASES["echo.text.1"], id=f"echo.{number}") for number in range(STARTS + 2)]
    verdicts = examine(with_knobs(fake, die_after="1"), cases, project=PROJECT, log=tmp_path / "log")
    assert [case.verdict for case in verdicts.cases] == ["fail"] * (STARTS + 2)
    assert verdicts.cases[-1].detail == f"the server died {STARTS} times before this case"


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("knobs", "verdict", "told"),
    [
        ({"start": "unsupported"}, "unsupported", "does not support"),
        ({"handshake": "hang"}, "fail", "no handshake"),
    ],
    ids=["status 127", "no handshake"],
)
def test_one_that_never_gets_ready_fails_in_all_or_is_unsupported(
    fake: Target, tmp_path: Path, knobs: dict[str, str], verdict: str, told: str
) -> None:
    verdicts = examine(
        with_knobs(fake, **knobs),
        some_cases("echo.text.0", "echo.text.1"),
        project=PROJECT,
        log=tmp_path / "log",
        ready_deadline_s=1,
    )
    assert {case.verdict for case in verdicts.cases} == {verdict}
    assert told in (verdicts.cases[1].detail or "")


@pytest.mark.end_to_end
def test_a_model_that_is_not_served_is_unsupported_and_sigterm_is_watched(
    fake: Target, tmp_path: Path
) -> None:
    stubborn = replace(with_knobs(fake, ignore_sigterm="true"), models=("echo",))
    cases = some_cases("stamp.greeting", "process.sigterm", "echo.text.0")
    found = examine(stubborn, cases, project=PROJECT, log=tmp_path / "log").cases
    assert [case.verdict for case in found] == ["unsupported", "fail", "pass"]
    assert "was killed" in (found[1].detail or "")


VERDICTS = Verdicts(
    "a/b",
    "1",
    (CaseVerdict("x.1", "pass", None), CaseVerdict("x.2", "fail", "why"), CaseVerdict("x.3", "pass", None)),
)


def test_verdicts_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    write_verdicts(tmp_path / "v.json", VERDICTS)
    assert read_verdicts(tmp_path / "v.json") == VERDICTS


def test_only_what_is_not_as_expected_is_news(fake: Target, tmp_path: Path) -> None:
    expected = {"x.1": "pass", "x.2": "pass", "x.4": "pass"}
    assert [str(difference) for difference in differences(VERDICTS, expected)] == [
        "x.2: fail, expected pass (why)",
        "x.3: pass, expected nothing yet",
        "x.4: not tried, expected pass",
    ]
    target = replace(fake, folder=tmp_path)
    assert read_expected(target) == {}
    write_expected(target, VERDICTS)
    assert differences(VERDICTS, read_expected(target)) == []

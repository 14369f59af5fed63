"""Playing: against an engine that plays back lines, so that ^C, resuming and bad engines can be planted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ramp_lines import end_line, round_line

from feedbench.errors import FeedbenchError
from feedbench.host.pinning import Pinning
from feedbench.paths import Project
from feedbench.ramp.campaign import Campaign, Rounds
from feedbench.ramp.play import Place, play, waiting_repeats
from feedbench.ramp.record import read_repeat
from feedbench.registry import Registry

ROUNDS = Rounds(
    rounds=3,
    add=10,
    requests=10,
    heartbeat_ns=0,
    connect_timeout_ns=1,
    quiet_ns=1,
    nearly_all=0.9,
    stuck_ns=1,
    allowed_lost_share=0.01,
)
CAMPAIGN = Campaign(
    name="mini",
    title="Mini",
    question="?",
    analysis="",
    targets=("elsewhere",),
    repeats=2,
    seed=1,
    rounds=ROUNDS,
    elsewhere="ws://127.0.0.1:1/",
)
# Prints its lines; then waits for SIGTERM if it was told so, as an engine in the middle of a round does.
PLAYER = """\
import json, signal, sys
lines, waits = json.load(open(sys.argv[0] + ".json"))
for line in lines:
    print(json.dumps(line) if isinstance(line, dict) else line, flush=True)
if waits:
    signal.sigwait([signal.SIGTERM])
    print(json.dumps(waits), flush=True)
"""


def engine(
    folder: Path, lines: list[object], waits: object = None, *, talk: str = "", status: int = 0
) -> Path:
    path = folder / "engine"
    ending = f"print({talk!r}, file=sys.stderr)\nsys.exit({status})\n"
    signals = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
    path.write_text(f"#!{sys.executable}\n{signals}{PLAYER}{ending}", encoding="utf-8")
    path.chmod(0o755)
    path.with_name("engine.json").write_text(json.dumps([lines, waits]), encoding="utf-8")
    return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("FEEDBENCH_ENGINE", str(tmp_path / "engine"))
    project = Project(tmp_path)
    return Place(tmp_path / "run", project, Registry(targets=(), states={}), Pinning(targets=(), engine=()))


def test_every_repeat_is_played_once(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    engine(place.project.root, [round_line(1), round_line(2), round_line(3), end_line(3)])
    play(CAMPAIGN, place)
    assert waiting_repeats(CAMPAIGN, place.run) == []
    assert len(read_repeat(place.run, "elsewhere", 2).rounds) == 3
    assert "elsewhere, repeat 1: 3 of 3 rounds" in capsys.readouterr().err
    engine(place.project.root, [], talk="nothing is to be played", status=1)
    play(CAMPAIGN, place)
    assert read_repeat(place.run, "elsewhere", 1).finished


def test_what_the_engine_says_is_why_a_repeat_failed(place: Place) -> None:
    engine(place.project.root, [], talk="feedbench-engine: no connection could be opened", status=1)
    play(CAMPAIGN, place)
    assert read_repeat(place.run, "elsewhere", 1).failure == "no connection could be opened"


def test_an_engine_that_stops_in_the_middle_is_a_failure_with_its_rounds_kept(place: Place) -> None:
    engine(place.project.root, [round_line(1)], status=3)
    play(CAMPAIGN, place)
    repeat = read_repeat(place.run, "elsewhere", 1)
    assert (repeat.failure, len(repeat.rounds)) == ("the engine: status 3", 1)


def test_lines_that_are_no_json_are_an_error(place: Place) -> None:
    engine(place.project.root, ["round one went well"])
    with pytest.raises(FeedbenchError, match="no JSON"):
        play(CAMPAIGN, place)


def test_an_interrupt_keeps_the_rounds_and_the_next_call_goes_on(place: Place) -> None:
    engine(place.project.root, [round_line(1)], waits=end_line(1, stopped="interrupted"))
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_ramp_play as t; from pathlib import Path\n"
        "place = t.Place(Path(sys.argv[2]) / 'run', t.Project(Path(sys.argv[2])),"
        " t.Registry(targets=(), states={}), t.Pinning(targets=(), engine=()))\n"
        "t.play(t.CAMPAIGN, place)"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent), str(place.project.root)]
    player = subprocess.Popen(command, env={**os.environ}, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not read_repeat(place.run, "elsewhere", 1).rounds and time.monotonic() < deadline:
        time.sleep(0.05)
    player.send_signal(signal.SIGINT)
    player.communicate(timeout=60)
    kept = read_repeat(place.run, "elsewhere", 1)
    assert (len(kept.rounds), kept.whole) == (1, False)
    assert kept.end is not None
    engine(place.project.root, [round_line(1), end_line(1)])
    play(CAMPAIGN, place)
    assert waiting_repeats(CAMPAIGN, place.run) == []
    assert len(list((place.run / "ramps" / "elsewhere").glob("1.interrupted-*.jsonl"))) == 1

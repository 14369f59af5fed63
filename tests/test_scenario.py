"""Scenarios: good ones are read with their defaults, bad ones refused with the line and a hint."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from feedbench.errors import ScenarioError
from feedbench.load import Closed, Load, Payload
from feedbench.paths import Project
from feedbench.protocol import Expect, Gates, Protocol
from feedbench.registry import discover
from feedbench.scenario import Control, read_scenario
from feedbench.spelling import spelled
from feedbench.target import SERVER_KNOBS
from planning import MINIMAL, make_registry, make_target, scenario_from, usual_registry


def test_what_a_scenario_leaves_out_has_the_defaults_of_the_specification(tmp_path: Path) -> None:
    scenario = scenario_from(MINIMAL, tmp_path)
    assert scenario.targets == ("c/floor", "node/ws")
    assert scenario.reference == scenario.sentinel == "c/floor"
    assert scenario.control is None
    assert scenario.compare == "target"
    assert scenario.protocol == Protocol()
    assert scenario.gates == Gates()
    assert scenario.expect == Expect()
    load = Load.from_settings(scenario.load)
    assert load == Load(
        Closed(1), 1, "/echo", Payload("binary", 108), False, "engine", "epoll", 2_000_000_000
    )


def test_a_scenario_may_set_everything(tmp_path: Path) -> None:
    (tmp_path / "tick.txt").write_text("AAPL 227.52", encoding="utf-8")
    text = """\
schema = 1
name = "all"
title = "All"
question = "All?"
analysis = "All."
pages = "12"
targets = ["python/*"]
exclude = [{ target = "python/websockets", reason = "too new" }]
reference = "python/tornado"
compare = "payload"
budget = "1.5h"
sentinel.target = "node/ws"
control = { target = "c/floor", delay = "5us" }
[protocol]
slice = "none"
seed = 7
measure = "0.5s"
[load]
pacer = "poisson"
rate = 0.5
[knobs]
log_messages = true
[factors]
payload = ["text-file:tick.txt", "json:64"]
cpus_awake = [true, false]
deflate = ["default", "on"]
"""
    scenario = scenario_from(text, tmp_path)
    assert scenario.targets == ("python/tornado",)
    assert scenario.excluded[0].reason == "too new"
    assert scenario.budget_ns == 5_400_000_000_000
    assert scenario.control == Control("c/floor", 5000)
    assert scenario.protocol.slice_ns is None
    assert scenario.protocol.measure_ns == 500_000_000
    assert scenario.seed == 7
    assert scenario.knobs == {"log_messages": "true"}
    assert scenario.factors["payload"] == ("text-file:tick.txt", "json:64")
    assert scenario.engine_factors == ("payload", "cpus_awake")
    assert scenario.knob_factors == ("deflate",)


def test_a_glob_brings_in_no_fakes(tmp_path: Path) -> None:
    scenario = scenario_from(MINIMAL.replace('"c/floor", "node/ws"', '"*/*"'), tmp_path)
    assert scenario.targets == ("c/floor", "node/ws", "python/tornado", "python/websockets", "rust/plain")


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (32, "32"), (0.5, "0.5"), ("text:37", "text:37")]
)
def test_values_are_spelled_as_knobs_take_them(value: str | float | bool, text: str) -> None:
    assert spelled(value) == text


# Each row: what is wrong; the text (a leading + adds to the six lines of MINIMAL); line, what and hint told.
BAD = [
    ("a table without its bracket", "+[protocol\n", 7, "Expected ']'", "TOML"),
    ("a text without its end", '+name2 = "abc\n', 7, "Illegal character", "TOML"),
    ("a key said twice", '+title = "again"\n', 7, "Cannot overwrite", "TOML"),
    ("a file that ends within a list", "+factors.connections = [1,", 7, "Invalid value", "TOML"),
    ("an unknown key at the top", '+tilte = "x"\n', 7, 'unknown key "tilte"', 'did you mean "title"?'),
    ("an unknown table", "+[protocoll]\nblocks = 1\n", 7, 'unknown key "protocoll"', '"protocol"'),
    (
        "an unknown key in [protocol]",
        "+[protocol]\nblocks = 3\nblock = 3\n",
        9,
        'unknown key "block"',
        '"blocks"',
    ),
    (
        "an unknown key in [gates]",
        "+[gates]\n\nsteal = 0.1\n",
        9,
        'unknown key "steal" in [gates]',
        "steal_share",
    ),
    ("an unknown key in [load]", "+[load]\nconections = 1\n", 8, 'unknown key "conections"', '"connections"'),
    (
        "fragments with compression",
        "+[load]\noffer_deflate = true\nfragments = 4\n",
        9,
        "fragments are not compressed",
        "offer_deflate = false",
    ),
    (
        "fragments of stamps",
        '+[load]\npath = "/stamp"\npayload = "stamp"\n[factors]\nfragments = [1, 2]\n',
        11,
        "stamps are not sent in fragments",
        "payload",
    ),
    ("pings between one frame", "+[load]\nping_between = true\n", 8, "nothing between", "fragments = 2"),
    ("an unknown key in [expect]", "+[expect]\nlosses = 1\n", 8, 'unknown key "losses"', "lost"),
    (
        "an unknown key in [sentinel]",
        '+[sentinel]\nname = "c/floor"\n',
        7,
        '"target" is missing',
        "spec/README.md",
    ),
    (
        "an unknown key in an exclusion",
        '+exclude = [{target="c/floor", why="x"}]\n',
        7,
        'unknown key "why"',
        "reason",
    ),
    (
        "a missing key",
        MINIMAL.replace('title = "A test"\n', ""),
        1,
        'the key "title" is missing',
        "spec/README.md",
    ),
    ("a schema of the future", MINIMAL.replace("schema = 1", "schema = 2"), 1, "only 1 is known", None),
    ("a number for a text", MINIMAL.replace('"A test"', "7"), 3, "title = 7: not a text in quotes", None),
    ("a text for a number", '+[protocol]\nblocks = "11"\n', 8, "not a whole number", None),
    ("a text for yes or no", '+[protocol]\n# no pins\npin = "no"\n', 9, "not true or false", None),
    (
        "a value that is no list",
        "+[factors]\nconnections = 4\n",
        8,
        "factors.connections = 4: not a list",
        None,
    ),
    ("an empty list of targets", MINIMAL.replace('"c/floor", "node/ws"', ""), 6, "must not be empty", None),
    ("a target named twice", MINIMAL.replace("node/ws", "c/floor"), 6, "names something twice", None),
    ("a duration without a unit", '+[protocol]\nmeasure = "10"\n', 8, "not a duration", '"25ms"'),
    ("a duration with a strange unit", '+budget = "5min"\n', 7, "not a duration", '"5m"'),
    ("no time to measure", '+[protocol]\nmeasure = "0s"\n', 8, "not a duration above zero", '"25ms"'),
    ("a negative duration", '+[protocol]\nwarmup = "-1s"\n', 8, "not a duration", '"25ms"'),
    (
        "a slice longer than the measuring",
        '+[protocol]\nslice = "2s"\n',
        8,
        "longer than the measuring",
        "shorten",
    ),
    ("a whole slice dropped", "+[protocol]\ndrop_first = 1.0\n", 8, "must be less than 1", None),
    ("less than nothing dropped", "+[protocol]\ndrop_first = -0.1\n", 8, "must be 0 or more", None),
    ("no blocks", "+[protocol]\nblocks = 0\n", 8, "must be 1 or more", None),
    ("a negative seed", "+[protocol]\nseed = -1\n", 8, "must be 0 or more", None),
    ("a quantile of 1", '+[protocol]\nquantiles = ["p50", "p100"]\n', 8, "not a quantile below 1", '"p99.9"'),
    ("a share above 1", "+[gates]\nsteal_share = 1.5\n", 8, "must be 1 or less", None),
    (
        "an unknown target",
        MINIMAL.replace("node/ws", "nod/ws"),
        6,
        'there is no target "nod/ws"',
        '"node/ws"',
    ),
    (
        "a glob that matches nothing",
        MINIMAL.replace("node/ws", "java/*"),
        6,
        'no target matches "java/*"',
        "known:",
    ),
    (
        "a target of its own line",
        MINIMAL[:-23] + '[\n"c/floor",\n"go/ws",\n]\n',
        8,
        'no target "go/ws"',
        '"node/ws"',
    ),
    ("an unknown sentinel", '+[sentinel]\ntarget = "c/flor"\n', 8, 'no target "c/flor"', '"c/floor"'),
    ("a control without a delay", '+[control]\ntarget = "c/floor"\n', 7, '"delay" is missing', None),
    (
        "an unknown control",
        '+[control]\ntarget = "c/flo"\ndelay = "5us"\n',
        8,
        'no target "c/flo"',
        '"c/floor"',
    ),
    ("an excluded stranger", '+exclude = [{ target = "go/x", reason = "r" }]\n', 7, 'no target "go/x"', None),
    (
        "all excluded",
        '+exclude = [{ target = "*/*", reason = "r" }]\n',
        6,
        "no target is left",
        "leave one",
    ),
    ("a reference from elsewhere", '+reference = "rust/plain"\n', 7, "not among the targets", "c/floor"),
    (
        "an unknown factor",
        "+[factors]\nconections = [1]\n",
        8,
        'unknown factor "conections"',
        '"connections"',
    ),
    ("a knob that no target here has", '+[knobs]\ncolour = "red"\n', 8, 'the knob "colour"', "known:"),
    ("a knob's impossible value", '+[knobs]\ndeflate = "maybe"\n', 8, 'takes deflate = "maybe"', "known:"),
    (
        "a knob factor's value",
        '+[factors]\ndeflate = ["off", "no"]\n',
        8,
        'takes deflate = "no"',
        "known: default, off, on",
    ),
    ("a delay that is no number", '+[knobs]\ndelay_ns = "5us"\n', 8, 'takes delay_ns = "5us"', None),
    (
        "a factor's impossible value",
        "+[factors]\nconnections = [1, 0]\n",
        8,
        "connections = 0: must be 1 or",
        None,
    ),
    ("a payload of unknown kind", '+[load]\npayload = "xml:9"\n', 8, "not a payload", '"binary:108"'),
    (
        "a payload file that is not there",
        '+[load]\npayload = "file:no.bin"\n',
        8,
        '"no.bin" is not there',
        "beside",
    ),
    (
        "a payload file in a factor",
        '+[factors]\npayload = ["file:no.bin"]\n',
        8,
        '"no.bin" is not there',
        "beside",
    ),
    ("text that is no text", '+[load]\npayload = "text-file:raw.bin"\n', 8, "not UTF-8", '"file:raw.bin"'),
    (
        "echoes wanted of /stamp",
        '+[load]\npath = "/stamp"\npayload = "text:20"\n',
        9,
        "/stamp answers nothing but stamps",
        'payload = "stamp"',
    ),
    (
        "stamps wanted of /echo",
        '+[load]\npayload = "stamp"\n',
        8,
        "/echo does not answer stamps",
        'path = "/stamp"',
    ),
    (
        "stamps from an echo client",
        '+[load]\npath = "/stamp"\npayload = "stamp"\nclient = "own"\n',
        9,
        "echo clients send no stamps",
        'client = "engine"',
    ),
    ("a path without a slash", '+[load]\npath = "echo"\n', 8, "not a path", '"/echo"'),
    ("an unknown pacer", '+[load]\npacer = "open"\n', 8, 'not one of "closed", "burst"', None),
    ("a rate in a closed loop", "+[load]\nrate = 10\n", 8, '"rate" has no effect', "leave it out"),
    (
        "a depth at a rate",
        '+[load]\npacer = "constant"\nin_flight = 4\n',
        9,
        '"in_flight" has no effect',
        None,
    ),
    ("a rate of nothing", '+[load]\npacer = "constant"\nrate = 0\n', 9, "not a number above zero", "50%"),
    ("a share of nothing", '+[load]\npacer = "poisson"\nrate = "0%"\n', 9, "a share such as", "50%"),
    ("a share without its sign", '+[load]\npacer = "poisson"\nrate = "50"\n', 9, "a share such as", "50%"),
    ("an unknown client", '+[load]\nclient = "node/ws"\n', 8, "has an echo client", "known:"),
    ("a rate for a client", '+[load]\nclient = "own"\npacer = "constant"\n', 8, "send, wait", "closed"),
    ("said twice", "+[load]\nconnections = 1\n[factors]\nconnections = [1]\n", 8, "and in [factors]", "once"),
    (
        "two names for one value",
        '+[factors]\nlog_messages = [true, "true"]\n',
        8,
        'both be called "true"',
        "one",
    ),
    ("a comparison of no factor", '+compare = "payload"\n', 7, "is not a factor", "target"),
]


@pytest.mark.parametrize(
    ("text", "line", "what", "hint"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_a_bad_scenario_is_refused_with_line_and_hint(
    tmp_path: Path, text: str, line: int, what: str, hint: str | None
) -> None:
    (tmp_path / "raw.bin").write_bytes(b"\xff\xfe")
    whole = MINIMAL + text[1:] if text.startswith("+") else text
    with pytest.raises(ScenarioError) as refused:
        scenario_from(whole, tmp_path)
    assert refused.value.where == f"{tmp_path / 'test.toml'}:{line}"
    assert what in refused.value.what
    if hint is not None:
        assert refused.value.hint is not None
        assert hint in refused.value.hint
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="No such file"):
        read_scenario(tmp_path / "none.toml", registry=usual_registry(), root=tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "caf\xe9"')
    with pytest.raises(ScenarioError, match="not UTF-8"):
        read_scenario(tmp_path / "latin.toml", registry=usual_registry(), root=tmp_path)


PROJECT = Project.find(Path(__file__).parent)


# A ramp campaign is none of `feedbench run`'s: tests/ramp/ reads it.
HOUSE = sorted(
    path
    for path in PROJECT.scenarios.rglob("*.toml")
    # Ramps and doors are campaigns of their own kinds.
    if not {"ramp", "doors"} & tomllib.loads(path.read_text(encoding="utf-8")).keys()
)


@pytest.mark.parametrize("path", HOUSE, ids=lambda path: path.stem)
def test_the_scenarios_of_the_house_are_good_and_named_after_their_files(path: Path) -> None:
    registry = discover(PROJECT, probe=lambda need: None)
    name = read_scenario(path, registry=registry, root=PROJECT.root).name
    assert name in (path.stem, f"{path.parent.name}-{path.stem}")


def test_a_glob_matches_those_that_the_question_can_be_asked_of(tmp_path: Path) -> None:
    client = replace(make_target("go/client"), roles=("client",))
    sharing = {**SERVER_KNOBS, "reuse_port": ("off", "on")}
    registry = make_registry(
        client,
        make_target("go/plain", knobs=SERVER_KNOBS),
        make_target("go/sharing", knobs={**sharing, "threads": ("1", "*")}),
        make_target("go/threads", knobs={**SERVER_KNOBS, "threads": ("3", "*")}),
    )

    def names(more: str) -> tuple[str, ...]:
        text = MINIMAL.replace('"c/floor", "node/ws"', '"*/*"') + more
        return scenario_from(text, tmp_path, registry=registry).targets

    assert names("") == ("go/plain", "go/sharing", "go/threads")
    assert names('compare = "threads"\n[factors]\nthreads = [1, 2]\n') == ("go/sharing", "go/threads")
    assert names('compare = "processes"\n[factors]\nprocesses = [1, 2]\n') == ("go/sharing",)
    assert names('compare = "connections"\n[factors]\nconnections = [1, 2]\n')[0] == "go/plain"
    with pytest.raises(ScenarioError, match="no target is left"):
        names('compare = "balancer"\n[factors]\nbalancer = ["none", "nginx"]\n')
    with pytest.raises(ScenarioError, match='did you mean "threads"'):
        names('compare = "treads"\n[factors]\nthreads = [1, 2]\n')
    text = MINIMAL.replace('"c/floor", "node/ws"', '"go/*", "go/client"')
    with pytest.raises(ScenarioError, match='"go/client" is no server'):
        scenario_from(text, tmp_path, registry=registry)

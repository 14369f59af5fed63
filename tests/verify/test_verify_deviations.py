"""Planted faults: a server that breaks one rule fails the cases on that rule, all of them and no others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from feedbench.paths import Project
from feedbench.target import Target, read_target
from feedbench.verify.case import Case, read_cases
from feedbench.verify.examination import examine

pytestmark = pytest.mark.end_to_end

PROJECT = Project.find(Path(__file__).parent)
CASES = read_cases(PROJECT.conformance / "ws")
FEED_CASES = read_cases(PROJECT.conformance / "feed")
FAKE = read_target(PROJECT.targets / "_fake/echo", root=PROJECT.targets)

# By deviation (targets/_fake/echo/faults.py): ids or globs of what it fails; after "except" what it does not.
SERVER_DEVIATIONS = {
    "version-unchecked": "handshake.*version*",
    "subprotocol-invented": "handshake.*subprotocol*",
    "length-border-wrong": "echo.*.65535",
    "mask-unchecked": "frame.unmasked mask.missing.*",
    "reserved-bit-accepted": "frame.reserved-bit* deflate.wrong.rsv* deflate.wrong.not-agreed",
    "reserved-opcode-accepted": "frame.reserved-opcode* except frame.reserved-opcode.in-fragments",
    "fragment-order-lost": "fragment.* limit.fragments.* control.interleaved mask.each-its-own"
    " mask.control-between utf8.split-character utf8.split-four-bytes utf8.every-byte-its-fragment"
    " utf8.empty-fragment-inside deflate.content.fragments* deflate.content.utf8-split"
    # These have one fragment with something in it, or never a last one.
    " except deflate.content.fragments.empty-last fragment.empty fragment.all-empty fragment.close-between"
    " fragment.new-* fragment.stray-* "
    # The message before the stray one comes in fragments.
    " but fragment.stray-continuation.after-fragments",
    "continuation-unchecked": "fragment.stray-* fragment.new-*",
    "pong-payload-changed": "control.ping control.ping.* control.interleaved control.pong.then-ping"
    " mask.control-between utf8.split-four-bytes utf8.ping-is-free deflate.content.fragments.ping-between"
    " fragment.pings-between fragment.ping-answered-at-once fragment.stray-continuation.after-ping"
    # Those are never answered.
    " except control.ping.too-long control.ping.127 control.ping.65536 control.ping.fragmented*",
    "long-control-accepted": "control.*.too-long control.ping.127 control.ping.65536",
    "fragmented-control-accepted": "control.*.fragmented*",
    "invalid-utf8-accepted": "utf8.invalid* utf8.surrogate* utf8.cut-short* utf8.overlong.* utf8.lone-*"
    " utf8.above-* utf8.f5 utf8.fe utf8.*-bytes utf8.two-continuations utf8.greek-then-surrogate"
    " utf8.at-the-end utf8.split-character.broken utf8.fail-fast close.reason.invalid-utf8"
    " close.reason.cut-short deflate.wrong.utf8 except utf8.split-four-bytes",
    "close-code-ignored": "close.reserved-code close.code.0 close.code.999 close.code.1004 close.code.1006"
    " close.code.1015 close.code.1016 close.code.1100 close.code.2000 close.code.2999 close.code.5000"
    " close.code.65535",
    "deflate-parameters-unchecked": "deflate.declined.*",
    "deflate-window-ignored": "deflate.server-max-window-bits.* deflate.all-four"
    " except deflate.server-max-window-bits.15",
    "deflate-takeover-kept": "deflate.server-no-context-takeover deflate.no-context-takeover.both",
}


def ids(patterns: str, *, role: str, cases: Iterable[Case] = tuple(CASES)) -> set[str]:
    """`a.* except a.b but a.b.c`: globs, less some of them, with some again after all."""
    taken, _, again = patterns.partition(" but ")
    wanted, _, left_out = taken.partition(" except ")
    known = [case.id for case in cases if case.role == role]
    return (_matching(known, wanted) - _matching(known, left_out)) | _matching(known, again)


def _matching(known: Iterable[str], patterns: str) -> set[str]:
    found = set()
    for pattern in patterns.split():
        hits = {name for name in known if fnmatchcase(name, pattern)}
        assert hits, f"no case matches {pattern}"
        found |= hits
    return found


def deviating(deviation: str) -> Target:
    assert FAKE.server_command is not None
    return replace(
        FAKE,
        server_command=("env", f"FEEDBENCH_DEVIATES={deviation}", *FAKE.server_command),
        echo_client_command=None,
    )


@pytest.mark.parametrize("deviation", SERVER_DEVIATIONS)
def test_a_server_that_breaks_one_rule_fails_exactly_its_cases(deviation: str, tmp_path: Path) -> None:
    verdicts = examine(deviating(deviation), CASES, project=PROJECT, log=tmp_path / "log")
    found = {case.id: case.detail for case in verdicts.cases if case.verdict != "pass"}
    expected = ids(SERVER_DEVIATIONS[deviation], role="server")
    missed = expected - set(found)
    assert not missed, "passed though it must not"
    beyond = {name: detail for name, detail in found.items() if name not in expected}
    assert not beyond, "not passed though the rule is another"


# The same for clients; one without compression, which is all that it leaves out.
CLIENT_DEVIATIONS = {
    "": "",
    "accept-unchecked": "client.handshake.wrong.accept client.handshake.wrong.no-accept",
    "mask-unchecked": "client.mask.masked.*",
    "fragment-order-lost": "client.fragment.two client.fragment.five client.fragment.64KiB-in-1KiB"
    " client.fragment.p*-between client.utf8.every-byte-its-fragment",
    "pong-payload-changed": "client.control.ping.* client.fragment.ping-between"
    " except client.control.ping.too-long client.control.ping.fragmented",
    "invalid-utf8-accepted": "client.utf8.* client.close.reason.invalid-utf8"
    " except client.utf8.valid client.utf8.every-byte-its-fragment",
    "close-code-ignored": "client.close.code.*",
}


@pytest.mark.parametrize("deviation", CLIENT_DEVIATIONS)
def test_a_client_that_breaks_one_rule_fails_exactly_its_cases(deviation: str, tmp_path: Path) -> None:
    program = Path(__file__).with_name("faulty_client.py")
    client = replace(
        FAKE,
        server_command=None,
        echo_client_command=(
            *("env", f"FEEDBENCH_DEVIATES={deviation}", "{python}"),
            *(str(program), str(FAKE.folder)),
        ),
    )
    cases = [case for case in CASES if case.group != "client.deflate"]
    verdicts = examine(client, cases, project=PROJECT, log=tmp_path / "log")
    found = {case.id: case.detail for case in verdicts.cases if case.verdict != "pass"}
    expected = ids(CLIENT_DEVIATIONS[deviation], role="client") if deviation else set()
    assert not expected - set(found), "passed though it must not"
    assert {name: why for name, why in found.items() if name not in expected} == {}


# And for feed clients. The fake has no stamp before the receive call and no compression to turn off.
NOT_FOR_THE_FAKE = {"feed.knob.stamp-before"}
ENDED_BY_THE_EXCHANGE = (
    "feed.* except feed.arguments.* feed.tls.untrusted feed.end.sigterm feed.end.exit-file feed.end.reset"
    " feed.burst.then-asked feed.sink.sqlite-behind.sigterm"
)
FEED_DEVIATIONS = {
    "": "",
    "empty-forgotten": "feed.message.empty",
    "binary-forgotten": "feed.message.binary.* feed.message.empty feed.message.fragments",
    "text-as-binary": "feed.* except feed.arguments.* feed.tls.untrusted feed.sink.* feed.message.binary.*"
    " feed.end.nothing",
    "large-forgotten": "feed.message.*.65536 feed.message.*.1MiB feed.sink.sqlite feed.sink.sqlite-behind",
    "burst-forgotten": "feed.burst.* feed.sink.*.burst feed.sink.sqlite-behind.sigterm",
    "fragment-order-lost": "feed.message.fragments",
    "pong-payload-changed": "feed.message.pings feed.burst.then-asked feed.end.sigterm feed.end.exit-file"
    " feed.end.fin feed.end.reset feed.end.within-message feed.sink.sqlite-behind.sigterm",
    "subscription-forgotten": "feed.subscribe.message feed.subscribe.messages feed.sink.sqlite.subscribe",
    "anybody-trusted": "feed.tls.untrusted",
    "details-omitted": "feed.sink.sqlite*",
    "exit-file-ignored": "feed.end.exit-file",
    "no-close-frame": "feed.end.sigterm feed.end.exit-file feed.burst.then-asked"
    " feed.sink.sqlite-behind.sigterm",
    # Reset connections raise an error before the fake gets so far.
    "connects-again": ENDED_BY_THE_EXCHANGE,
    "reason-omitted": ENDED_BY_THE_EXCHANGE,
}


@pytest.mark.parametrize("deviation", FEED_DEVIATIONS)
def test_a_feed_client_that_breaks_one_rule_fails_exactly_its_cases(deviation: str, tmp_path: Path) -> None:
    program = Path(__file__).with_name("faulty_feed_client.py")
    client = replace(
        FAKE,
        server_command=None,
        feed_client_command=(
            *("env", f"FEEDBENCH_DEVIATES={deviation}", "{python}"),
            *(str(program), str(FAKE.folder), str(PROJECT.targets / "python" / "_support")),
        ),
        knobs={
            "sink": ("stamps", "sqlite", "sqlite_behind", "none"),
            "parse": ("off", "on"),
            "log_messages": ("false", "true"),
            "deflate": ("off",),
        },
    )
    feed_cases = [case for case in FEED_CASES if case.id not in NOT_FOR_THE_FAKE]
    # What departs has to wait for what does not come: the least that a busy machine allows.
    verdicts = examine(client, feed_cases, project=PROJECT, log=tmp_path / "log", timeout_s=1.0)
    found = {case.id: case.detail for case in verdicts.cases if case.verdict != "pass"}
    expected = ids(FEED_DEVIATIONS[deviation], role="feed", cases=feed_cases) if deviation else set()
    assert not expected - set(found), "passed though it must not"
    assert {name: why for name, why in found.items() if name not in expected} == {}

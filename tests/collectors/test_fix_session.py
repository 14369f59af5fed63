"""The FIX session without sockets: numbers, gaps, heartbeats, and what breaks the rules."""

from __future__ import annotations

import asyncio

import pytest

from feedbench.collectors.fix import FixOptions, FixRequester
from feedbench.collectors.fix_echo import fix_echo
from feedbench.collectors.fix_session import (
    HEARTBEAT,
    LOGON,
    MARKET_DATA_REQUEST,
    RESEND_REQUEST,
    TEST_REQUEST,
    FixSession,
    SessionError,
)


def pair() -> tuple[FixSession, FixSession]:
    """Both ends, logged on."""
    ours, theirs = FixSession("A", "B"), FixSession("B", "A")
    assert theirs.receive(ours.logon())[0][0].kind == LOGON
    assert ours.receive(theirs.logon())[0][0].kind == LOGON
    return ours, theirs


def test_a_test_request_is_answered_with_its_text() -> None:
    ours, theirs = pair()
    messages, answer = ours.receive(theirs.message(TEST_REQUEST, [(112, "are you there")]))
    assert [message.kind for message in messages] == [TEST_REQUEST]
    back, _ = theirs.receive(answer)
    assert (back[0].kind, back[0].text(112)) == (HEARTBEAT, "are you there")


def test_a_gap_is_asked_for_once_and_filled() -> None:
    ours, theirs = pair()
    theirs.skip(3)
    for _ in range(2):
        messages, asked = ours.receive(theirs.message(HEARTBEAT, []))
        assert messages == []
        if asked:
            request = asked
    assert (ours.gaps, ours.missed) == (1, 3)
    received, filled = theirs.receive(request)
    assert (received[0].kind, received[0].text(7)) == (RESEND_REQUEST, "2")
    ours.receive(filled)
    after, nothing = ours.receive(theirs.message(HEARTBEAT, []))
    assert ([message.kind for message in after], nothing) == ([HEARTBEAT], b"")


def test_messages_may_come_in_pieces_and_together() -> None:
    ours, theirs = pair()
    data = theirs.message(HEARTBEAT, []) + theirs.message(TEST_REQUEST, [(112, "x")])
    kinds = []
    for byte in data:
        kinds += [message.kind for message in ours.receive(bytes([byte]))[0]]
    assert kinds == [HEARTBEAT, TEST_REQUEST]


def test_what_breaks_the_rules_ends_the_session() -> None:
    table = {
        "CheckSum is": lambda data: data[:-4] + (b"000" if data[-4:-1] != b"000" else b"001") + b"\x01",
        "BodyLength is": lambda data: data.replace(b"\x019=", b"\x019=1", 1),
    }
    for complaint, damage in table.items():
        ours, theirs = pair()
        with pytest.raises(SessionError, match=complaint):
            ours.receive(damage(theirs.message(HEARTBEAT, [])))
    ours, theirs = pair()
    again = FixSession("B", "A")
    with pytest.raises(SessionError, match="MsgSeqNum 1 is too low, 2 was expected"):
        ours.receive(again.message(HEARTBEAT, []))
    with pytest.raises(SessionError, match="without the field 112"):
        ours.receive(theirs.message(TEST_REQUEST, []))


@pytest.mark.anyio
async def test_through_the_echo() -> None:
    async with fix_echo(port=0) as port:
        stop = asyncio.Event()
        requester = FixRequester(FixOptions(port=port, throttle_s=0))
        asyncio.get_running_loop().call_later(0.3, stop.set)
        await requester.run(stop)
        collected = requester.collected
        assert collected.observations
        assert all(each.round_trip_ns and each.round_trip_ns > 0 for each in collected.observations)
        assert (collected.tally.failed, collected.tally.gaps, collected.tally.causes) == (0, 0, {})
        # Somebody who breaks the rules is shown the door, and the next is served.
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(FixSession("X", "ECHO").message(MARKET_DATA_REQUEST, [(55, "BTC-USD")]))
        assert await reader.read() == b""
        writer.close()


@pytest.mark.anyio
async def test_without_an_acceptor_it_waits_longer_each_time_and_says_why() -> None:
    class Waits:
        """A clock that only counts what it is asked to sleep, and ends the run after eight times."""

        def __init__(self) -> None:
            self.slept: list[float] = []

        def now_ns(self) -> int:
            return 0

        async def sleep(self, seconds: float) -> None:
            self.slept.append(seconds)
            if len(self.slept) == 8:
                stop.set()

    stop = asyncio.Event()
    async with fix_echo(port=0) as port:
        pass  # the port was free a moment ago, and is again
    clock = Waits()
    requester = FixRequester(FixOptions(port=port), clock=clock)
    await requester.run(stop)
    assert clock.slept[-1] > 4 * clock.slept[0]
    assert requester.collected.tally.reconnects == 8
    assert any("ConnectionRefusedError" in cause for cause in requester.collected.tally.causes)

"""Asks an exchange for its time, as often as wanted: samples for `feedbench.clock_offset`."""

from __future__ import annotations

import asyncio

import httpx

from feedbench.clock_offset.sample import ClockSample
from feedbench.collectors.clock import Clock, SystemClock
from feedbench.collectors.pause import pause
from feedbench.collectors.rest import RestOptions, http_client
from feedbench.collectors.venue import UnreadableError, Venue
from feedbench.errors import FeedbenchError


async def sample_clock(
    venue: Venue,
    count: int,
    *,
    every_s: float,
    options: RestOptions | None = None,
    clock: Clock | None = None,
    stop: asyncio.Event | None = None,
) -> list[ClockSample]:
    """`count` samples over one connection that is already open; fewer if `stop` is set before.

    FeedbenchError when an answer is no time. A question that is refused or lost is left out.
    """
    clock, stop = clock or SystemClock(), stop or asyncio.Event()
    url = venue.rest_url + venue.time_path
    samples: list[ClockSample] = []
    async with http_client(options or RestOptions()) as client:
        # The first question opens the connection: its round trip is that of a handshake, too.
        for asked in range(count + 1):
            if stop.is_set():
                break
            sent_ns = clock.now_ns()
            try:
                response = await client.get(url)
            except httpx.HTTPError:
                response = None
            received_ns = clock.now_ns()
            if response is not None and response.status_code == 200 and asked > 0:
                samples.append(_sample(venue, sent_ns, received_ns, response.content))
            await pause(clock, every_s, stop)
    return samples


def _sample(venue: Venue, sent_ns: int, received_ns: int, body: bytes) -> ClockSample:
    try:
        remote = venue.read_time(body)
    except UnreadableError as error:
        raise FeedbenchError(
            f"the answer is no time: {error}", where=venue.rest_url + venue.time_path
        ) from error
    return ClockSample(sent_ns, remote.unix_ns, received_ns, remote.resolution_ns)

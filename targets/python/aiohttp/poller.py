"""Polls an exchange with aiohttp."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import poll_client


@asynccontextmanager
async def opened(poll: poll_client.Poll) -> AsyncIterator[poll_client.Ask]:
    async with aiohttp.ClientSession() as session:

        async def ask() -> poll_client.Answer:
            async with session.get(poll.url, ssl=poll.ssl_context or True) as response:
                return poll_client.Answer(
                    response.status, await response.read(), response.headers.get("Retry-After")
                )

        yield ask


poll_client.run(opened, http=("1.1",))

"""Polls an exchange with httpx (asyncio)."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import poll_client


@asynccontextmanager
async def opened(poll: poll_client.Poll) -> AsyncIterator[poll_client.Ask]:
    # Without HTTP/1.1, HTTP/2 is asked for by ALPN over TLS, and by prior knowledge without.
    async with httpx.AsyncClient(
        http1=not poll.http2, http2=poll.http2, verify=poll.ssl_context or True, trust_env=False
    ) as client:

        async def ask() -> poll_client.Answer:
            response = await client.get(poll.url)
            return poll_client.Answer(
                response.status_code, response.content, response.headers.get("Retry-After")
            )

        yield ask


poll_client.run(opened, http=("1.1", "2"))

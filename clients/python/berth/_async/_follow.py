"""Reads what goes on in a session without its caller. A pause, or a restart of the server, is no error if it lasts half a minute."""

from __future__ import annotations

import json
from typing import Any, AsyncIterator, Awaitable, Callable, Optional, TypeVar

import anyio

from .._errors import BerthError
from .._retry import may_continue
from .._wire import decode_any
from ._streams import server_sent_events
from ._transport import AsyncTransport, Call

T = TypeVar("T")

RETRY_SECONDS = 1
MAX_TRIES = 30


async def follow(transport: AsyncTransport, url: str, kind: Any) -> AsyncIterator[Any]:
    """Yields the events of a stream whose last one is `end`. A lost connection is opened again, after the last event that came."""
    last_id: Optional[str] = None
    tries = 0
    while True:
        try:
            headers = {"accept": "text/event-stream", **({} if last_id is None else {"last-event-id": last_id})}
            async with transport.stream(Call("GET", url, headers=headers)) as response:
                async for event in server_sent_events(response):
                    raw = json.loads(event.data)
                    last_id = event.id
                    tries = 0
                    yield decode_any(kind, raw)
                    if raw["type"] == "end":
                        return
        except BerthError as error:
            if not may_continue(error) or tries >= MAX_TRIES:
                raise
            # A run that waits for the setup of its session may wait for long.
            if error.code == "run_waiting":
                tries = 0
        tries += 1
        await anyio.sleep(RETRY_SECONDS)


async def ask_until(ask: Callable[[], Awaitable[Optional[T]]]) -> T:
    """Calls `ask` until it has an answer."""
    tries = 0
    while True:
        try:
            answer = await ask()
            if answer is not None:
                return answer
            tries = 0
        except BerthError as error:
            if not may_continue(error) or tries >= MAX_TRIES:
                raise
            tries += 1
            await anyio.sleep(RETRY_SECONDS)

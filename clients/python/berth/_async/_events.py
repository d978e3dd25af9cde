from __future__ import annotations

import json
from typing import AsyncIterator, Optional

import anyio

from .._errors import ConnectionError, ServerError
from .._types import BerthEvent
from .._wire import decode
from ._streams import AsyncStream, server_sent_events
from ._transport import AsyncTransport, Call

PATH = "/api/b2b/events"
RECONNECT_SECONDS = 1


class AsyncEvents:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, *, after: Optional[str] = None, page_size: Optional[int] = None) -> AsyncIterator[BerthEvent]:
        """Past events, oldest first. `after` is the id of the last event that you have processed."""
        while True:
            body = await self._transport.send_json(Call("GET", PATH, query={"after": after, "limit": page_size}))
            if not body["data"]:
                return
            for event in body["data"]:
                yield decode(BerthEvent, event)
            after = body.get("nextCursor") or body["data"][-1]["id"]

    def stream(self, *, after: Optional[str] = None) -> AsyncStream[BerthEvent]:
        """Events as they happen, until you leave the loop. Reconnects after a failure without losing events."""
        return AsyncStream(self._stream(after))

    async def _stream(self, after: Optional[str]) -> AsyncIterator[BerthEvent]:
        while True:
            try:
                headers = {"accept": "text/event-stream", **({} if after is None else {"last-event-id": after})}
                async with self._transport.stream(Call("GET", PATH, headers=headers)) as response:
                    async for message in server_sent_events(response):
                        event = decode(BerthEvent, json.loads(message.data))
                        after = event.id
                        yield event
            # The service is restarting, or the connection broke.
            except (ConnectionError, ServerError):
                pass
            await anyio.sleep(RECONNECT_SECONDS)

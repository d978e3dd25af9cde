from __future__ import annotations

import json
from typing import Any, AsyncIterator, Generic, TypeVar, cast

import httpx

from .._lines import EventParser, LineSplitter, ServerSentEvent

T = TypeVar("T")


class AsyncStream(Generic[T]):
    """Iterate over it, in a `with` block if you want it closed at a certain moment: leaving the loop early closes the connection when
    nothing refers to the stream any more."""

    def __init__(self, source: AsyncIterator[T]) -> None:
        self._source = source

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        return await self._source.__anext__()

    async def aclose(self) -> None:
        await cast(Any, self._source).aclose()

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def lines(response: httpx.Response) -> AsyncIterator[str]:
    splitter = LineSplitter()
    async for chunk in response.aiter_bytes():
        for line in splitter.feed(chunk):
            yield line
    for line in splitter.end():
        yield line


async def json_lines(response: httpx.Response) -> AsyncIterator[Any]:
    async for line in lines(response):
        if line.strip():
            yield json.loads(line)


async def server_sent_events(response: httpx.Response) -> AsyncIterator[ServerSentEvent]:
    parser = EventParser()
    async for line in lines(response):
        event = parser.feed(line)
        if event:
            yield event

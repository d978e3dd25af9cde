from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence, Union
from urllib.parse import quote

from .._page import Page, page_of
from .._types import FileAttachment, ImageAttachment, RunAnswer, RunData, RunEvent, RunOptions, RunSummary
from .._wire import decode, to_wire
from ._follow import follow
from ._paging import AsyncPaged
from ._streams import AsyncStream
from ._transport import AsyncTransport, Call

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncRuns:
    """Work of the session's coding agent that goes on without its caller."""

    def __init__(self, transport: AsyncTransport, session_path: str) -> None:
        self._transport = transport
        self._path = f"{session_path}/runs"

    async def start(self, prompt: str, *, idempotency_key: Optional[str] = None, **options: Unpack[RunOptions]) -> AsyncRun:
        """Returns when the run is accepted. With your own idempotency key, a retry after a crash of your process returns the run of the
        first attempt."""
        json = {"prompt": prompt, **to_wire(RunOptions, options)}
        call = Call("POST", self._path, json=json, idempotency_key=idempotency_key or True, repeatable=True)
        return self.get((await self._transport.send_json(call))["runId"])

    def get(self, run_id: str) -> AsyncRun:
        """A run whose id you know. Sends nothing."""
        return AsyncRun(self._transport, run_id, f"{self._path}/{quote(run_id, safe='')}")

    def list(self, *, status: Optional[str] = None, page_size: Optional[int] = None) -> AsyncPaged[RunSummary]:
        """Newest first. `page_size` is the number of runs per request (1 to 100), not in total."""

        async def load(cursor: Optional[str]) -> Page[RunSummary]:
            query = {"status": status, "limit": page_size, "cursor": cursor}
            body = await self._transport.send_json(Call("GET", self._path, query=query))
            return page_of(body, lambda item: decode(RunSummary, item))

        return AsyncPaged(load)


class AsyncRun:
    def __init__(self, transport: AsyncTransport, run_id: str, path: str) -> None:
        self._transport = transport
        self._path = path
        self.id = run_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r})"

    async def get(self) -> RunData:
        """The run as it is now."""
        return decode(RunData, await self._transport.send_json(Call("GET", self._path)))

    def follow(self) -> AsyncStream[RunEvent]:
        """Yields what the agent has done so far, and what follows until the end. A lost connection is opened again, and nothing is
        repeated."""
        return AsyncStream(follow(self._transport, f"{self._path}/events", RunEvent))

    async def wait(self) -> RunData:
        """Returns when the run has ended, or when it waits for an answer: see `status` and `waits_for`."""
        async with self.follow() as events:
            async for event in events:
                if event.type == "end" or (event.type == "run" and event.run.status == "needs_input"):
                    break
        return await self.get()

    async def send(
        self,
        prompt: str,
        *,
        attachments: Optional[Sequence[Union[FileAttachment, ImageAttachment]]] = None,
        idempotency_key: Optional[str] = None,
    ) -> None:
        """A further prompt, which the agent gets after the turn in progress."""
        json: Dict[str, Any] = {"prompt": prompt, **({} if attachments is None else to_wire(RunOptions, {"attachments": attachments}))}
        key = idempotency_key or True
        await self._transport.send(Call("POST", f"{self._path}/messages", json=json, idempotency_key=key, repeatable=True))

    async def answer(self, item_id: str, **answer: Unpack[RunAnswer]) -> None:
        """Answers a question in `waits_for`, for example with the `option_id` of one of its options."""
        await self._transport.send(Call("POST", f"{self._path}/answer", json={"itemId": item_id, **to_wire(RunAnswer, answer)}))

    async def interrupt(self) -> None:
        """Stops the agent and everything that this run has started."""
        await self._transport.send(Call("POST", f"{self._path}/interrupt", repeatable=True))

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from .._page import Page, page_of
from .._results import ForkFault
from .._types import SessionOptions, Source
from .._wire import to_wire
from ._paging import AsyncPaged
from ._session import PATH, AsyncSession, path_of
from ._session_for_user import session_for_user
from ._transport import AsyncTransport, Call

if TYPE_CHECKING:
    from typing_extensions import Literal, Unpack


@dataclass(frozen=True)
class AsyncForkResult:
    """Either a session or an error."""

    session: Optional[AsyncSession]
    error: Optional[ForkFault]


class AsyncSessions:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        *,
        external_user_id: str,
        source: Optional[Source] = None,
        wait: Optional[Literal["source"]] = None,
        idempotency_key: Optional[str] = None,
        **options: Unpack[SessionOptions],
    ) -> AsyncSession:
        """Returns when the sandbox is ready or, with `wait`, when its source is there or has failed. With your own idempotency key, a
        retry after a crash of your process returns the session of the first attempt."""
        json: Dict[str, Any] = {"externalUserId": external_user_id, **to_wire(SessionOptions, options)}
        if source is not None:
            json["source"] = to_wire(Source, source)
        is_long = wait is not None or (source is not None and "git" not in source)
        return AsyncSession(self._transport, await self._create(json, idempotency_key, is_long=is_long, query={"wait": wait}))

    async def fork(
        self,
        *,
        external_user_id: str,
        count: int,
        session_id: Optional[str] = None,
        snapshot_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        **options: Unpack[SessionOptions],
    ) -> List[AsyncForkResult]:
        """Creates up to 20 sessions with the files of one session or snapshot. Each result has a session or an error. Raises if none could
        be created."""
        if (session_id is None) == (snapshot_id is None):
            raise TypeError("fork needs either session_id or snapshot_id")
        source = {"sessionId": session_id} if snapshot_id is None else {"snapshotId": snapshot_id}
        json = {"externalUserId": external_user_id, "count": count, **to_wire(SessionOptions, options), "source": source}
        body = await self._create(json, idempotency_key, is_long=True)
        return [self._fork_result(result) for result in body["sessions"]]

    async def for_user(self, external_user_id: str, **options: Unpack[SessionOptions]) -> AsyncSession:
        """The session of a user: the newest live one, resumed if it is paused, or else a new one with these settings. Concurrent calls
        get the same session, so this cannot create a second one."""
        return await session_for_user(self, external_user_id, options)

    async def get(self, session_id: str) -> AsyncSession:
        body = await self._transport.send_json(Call("GET", path_of(session_id), query={"expand": "details"}))
        return AsyncSession(self._transport, body)

    async def destroy(self, session_id: str) -> None:
        """Permanently deletes the session and its files. Idempotent."""
        await self._transport.send(Call("DELETE", path_of(session_id)))

    def list(
        self,
        *,
        status: Optional[Literal["running", "paused", "destroyed"]] = None,
        external_user_id: Optional[str] = None,
        metadata: Optional[Mapping[str, str]] = None,
        page_size: Optional[int] = None,
    ) -> AsyncPaged[AsyncSession]:
        """Newest first. `page_size` is the number of sessions per request (1 to 100), not in total."""

        async def load(cursor: Optional[str]) -> Page[AsyncSession]:
            query = {"status": status, "externalUserId": external_user_id, "limit": page_size, "cursor": cursor, "expand": "details"}
            query.update({f"metadata.{key}": value for key, value in (metadata or {}).items()})
            body = await self._transport.send_json(Call("GET", PATH, query=query))
            return page_of(body, lambda item: AsyncSession(self._transport, item))

        return AsyncPaged(load)

    async def _create(
        self, json: Dict[str, Any], idempotency_key: Optional[str], *, is_long: bool, query: Optional[Dict[str, Any]] = None
    ) -> Any:
        key = idempotency_key or True
        call = Call("POST", PATH, query=query or {}, json=json, idempotency_key=key, repeatable=True, is_long=is_long)
        return await self._transport.send_json(call)

    def _fork_result(self, result: Mapping[str, Any]) -> AsyncForkResult:
        session, error = result["session"], result["error"]
        return AsyncForkResult(
            AsyncSession(self._transport, session) if session else None,
            ForkFault(error["code"], error["message"]) if error else None,
        )

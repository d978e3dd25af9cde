from __future__ import annotations

import os
from typing import TYPE_CHECKING, Optional, Sequence

import httpx

from .._types import UsageReport
from .._wire import decode
from ._events import AsyncEvents
from ._resources import AsyncKeys, AsyncSnapshots, AsyncVolumes
from ._sessions import AsyncSessions
from ._transport import AsyncTransport, Call, Reply
from ._webhooks import AsyncWebhooks

if TYPE_CHECKING:
    from typing_extensions import Literal

    UsageGroup = Literal["day", "session", "user", "template"]


class AsyncBerth:
    """`AsyncBerth(base_url="https://berth.example.com")` reads the key from the variable `BERTH_API_KEY`, unless you pass `api_key`.

    `timeout_ms` is the deadline of one attempt; streams have none. The default is one minute, and five minutes for calls that copy
    files or wait for a repository. `max_retries` says how often a failed call is retried, if a retry cannot execute it twice.
    `http_client` replaces the httpx client, for tests or proxies. Close the client with `with` or `aclose()`."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        max_retries: int = 3,
        http_client: Optional[httpx.AsyncClient] = None,
    ) -> None:
        transport = AsyncTransport(
            base_url=base_url,
            api_key=os.environ.get("BERTH_API_KEY", "") if api_key is None else api_key,
            timeout_ms=timeout_ms,
            max_retries=max_retries,
            http_client=http_client,
        )
        self._transport = transport
        self.sessions = AsyncSessions(transport)
        self.snapshots = AsyncSnapshots(transport, "/api/b2b/snapshots")
        self.volumes = AsyncVolumes(transport, "/api/b2b/volumes")
        self.keys = AsyncKeys(transport, "/api/b2b/keys")
        self.events = AsyncEvents(transport)
        self.webhooks = AsyncWebhooks(transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self._transport.base_url!r})"

    async def usage(
        self, *, from_: Optional[str] = None, to: Optional[str] = None, group_by: Sequence[UsageGroup] = ()
    ) -> UsageReport:
        """The usage of your sessions. `from_` and `to` are days in UTC, such as 2030-01-31; `to` is the first day after the report. The
        default is the last 30 days. Without groups, the report is one row."""
        return decode(UsageReport, (await self._usage(from_, to, group_by, "application/json")).json())

    async def usage_csv(self, *, from_: Optional[str] = None, to: Optional[str] = None, group_by: Sequence[UsageGroup] = ()) -> str:
        """The same as CSV."""
        return (await self._usage(from_, to, group_by, "text/csv")).text()

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncBerth:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _usage(self, from_: Optional[str], to: Optional[str], group_by: Sequence[UsageGroup], accept: str) -> Reply:
        query = {"from": from_, "to": to, "groupBy": ",".join(group_by) or None}
        return await self._transport.send(Call("GET", "/api/b2b/usage", query=query, headers={"accept": accept}))

from __future__ import annotations

import json
import time
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, AsyncIterator, Dict, Mapping, Optional, Union
from urllib.parse import urlsplit

import anyio
import httpx

from .._errors import BerthError, ConnectionError, ServerError, TimeoutError, error_from
from .._retry import LONG_TIMEOUT_MS, TIMEOUT_MS, retry_wait_ms

CLOSE_SECONDS = 5


@dataclass
class Call:
    method: str
    url: str
    """A path below the base URL, or an absolute URL."""
    query: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    body: Optional[bytes] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: Union[str, bool, None] = None
    """The service executes calls with the same key only once. True generates a key."""
    repeatable: Optional[bool] = None
    """Whether the call is idempotent, by itself or by its key. Other calls are only retried if the service refused them."""
    is_long: bool = False
    """The service may copy many files before it answers."""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        try:
            return json.loads(self.content)
        except ValueError:
            # Such as the page of a proxy.
            raise ServerError("The response is not JSON", code="invalid_response", status=self.status) from None

    def text(self) -> str:
        return self.content.decode("utf-8", errors="replace")


class AsyncTransport:
    """Sends calls, and retries them where that is safe. Raises a BerthError unless the status is 2xx."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        timeout_ms: Optional[float],
        max_retries: int,
        http_client: Optional[httpx.AsyncClient],
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"base_url is not an http or https URL: {base_url!r}")
        if not api_key:
            raise ValueError("api_key is required")
        self.base_url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._authorization = f"Bearer {api_key}"
        self._timeout_ms = timeout_ms
        self._max_retries = max_retries
        self._owns_client = http_client is None
        # Streams hold their connections, so there is no limit.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._client = http_client or httpx.AsyncClient(limits=limits)

    async def aclose(self) -> None:
        if self._owns_client:
            await self._client.aclose()

    async def send(self, call: Call) -> Reply:
        timeout_ms = self._timeout_ms or (LONG_TIMEOUT_MS if call.is_long else TIMEOUT_MS)
        request = self._prepare(call)
        attempt = 0
        while True:
            try:
                return await self._attempt(request, timeout_ms)
            except BerthError as error:
                await self._wait_for_retry(call, error, attempt)
            attempt += 1

    async def send_json(self, call: Call) -> Any:
        return (await self.send(call)).json()

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[httpx.Response]:
        """The response is open, and has no deadline. Leaving the block closes the connection."""
        response = await self._open(call)
        try:
            yield response
        except httpx.RequestError as cause:
            raise self._connection_error(cause) from None
        except BaseException:
            await _abort(response)
            raise
        finally:
            await response.aclose()

    async def _open(self, call: Call) -> httpx.Response:
        # Compression would hold back output that is small.
        request = self._prepare(call, {"accept-encoding": "identity"})
        attempt = 0
        while True:
            try:
                return await self._begin(request, httpx.Timeout(None, connect=TIMEOUT_MS / 1000))
            except BerthError as error:
                await self._wait_for_retry(call, error, attempt)
            attempt += 1

    async def _wait_for_retry(self, call: Call, error: BerthError, attempt: int) -> None:
        repeatable = call.method != "POST" if call.repeatable is None else call.repeatable
        wait_ms = retry_wait_ms(error, attempt, self._max_retries, repeatable)
        if wait_ms is None:
            raise error from None
        await anyio.sleep(wait_ms / 1000)

    def _prepare(self, call: Call, more_headers: Optional[Dict[str, str]] = None) -> Dict[str, Any]:
        headers = {"accept": "application/json", **call.headers, **(more_headers or {}), "authorization": self._authorization}
        content = call.body
        if call.json is not None:
            content = json.dumps(call.json, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
            headers["content-type"] = "application/json"
        # All attempts share one key.
        if call.idempotency_key:
            headers["idempotency-key"] = str(uuid.uuid4()) if call.idempotency_key is True else call.idempotency_key
        query = {name: str(value) for name, value in call.query.items() if value is not None}
        url = call.url if "://" in call.url else self.base_url + call.url
        return {"method": call.method, "url": url, "params": query or None, "content": content, "headers": headers}

    async def _attempt(self, request: Dict[str, Any], timeout_ms: float) -> Reply:
        deadline = time.monotonic() + timeout_ms / 1000
        response = await self._begin(request, httpx.Timeout(timeout_ms / 1000), timeout_ms)
        try:
            return Reply(response.status_code, response.headers, await self._read_whole(response, deadline))
        except httpx.RequestError as cause:
            raise self._connection_error(cause, timeout_ms) from None
        finally:
            await response.aclose()

    async def _begin(self, request: Dict[str, Any], timeout: httpx.Timeout, timeout_ms: float = TIMEOUT_MS) -> httpx.Response:
        """The response without its body, or the error that it is."""
        try:
            built = self._client.build_request(**request, timeout=timeout)
            # A redirect must not carry the API key elsewhere.
            response = await self._client.send(built, stream=True, auth=None, follow_redirects=False)
            if response.is_success:
                return response
            try:
                raise error_from(response.status_code, response.headers, _parse(await response.aread()))
            finally:
                await response.aclose()
        except httpx.RequestError as cause:
            raise self._connection_error(cause, timeout_ms) from None

    async def _read_whole(self, response: httpx.Response, deadline: float) -> bytes:
        """A connection that breaks or stalls in the middle is a failed attempt. httpx's own timeouts are those of one read."""
        chunks = []
        async for chunk in response.aiter_bytes():
            chunks.append(chunk)
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout("The response took too long")
        return b"".join(chunks)

    def _connection_error(self, cause: httpx.RequestError, timeout_ms: float = TIMEOUT_MS) -> ConnectionError:
        if isinstance(cause, httpx.TimeoutException):
            return TimeoutError(f"No response within {timeout_ms:g} ms", code="timeout")
        return ConnectionError(f"{self.base_url} could not be reached: {cause or type(cause).__name__}", code="connection_failed")


async def _abort(response: httpx.Response) -> None:
    """Closes the connection of a caller that does not want the rest. httpcore before 0.18 leaves it open in a task that anyio or Trio
    cancels, and then a command would run on."""
    connection = response.extensions.get("network_stream")
    with anyio.move_on_after(CLOSE_SECONDS, shield=True):
        if connection is not None:
            await connection.aclose()


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None

from __future__ import annotations

from typing import Any, AsyncIterator, Callable, Dict, List, Optional, Union

from .._errors import FileNotFoundError
from .._types import FileEntry, WrittenFile
from .._wire import decode
from ._streams import AsyncStream
from ._transport import AsyncTransport, Call


class AsyncFiles:
    """The files of a session: `files` has those of the workspace, with paths relative to it; `home` has those of the whole sandbox, with
    paths that are absolute or relative to the home folder."""

    def __init__(self, transport: AsyncTransport, sandbox_url: Callable[[], str], base: Optional[str] = None) -> None:
        self._transport = transport
        self._sandbox_url = sandbox_url
        self._base = base

    async def read(self, path: str) -> bytes:
        return (await self._transport.send(self._call("GET", "/files/content", path))).content

    async def read_text(self, path: str) -> str:
        return (await self._transport.send(self._call("GET", "/files/content", path))).text()

    def read_stream(self, path: str) -> AsyncStream[bytes]:
        """Streams a file that is too large for memory."""
        return AsyncStream(self._chunks(self._call("GET", "/files/content", path)))

    def archive(self, path: str = "") -> AsyncStream[bytes]:
        """Streams a folder as a zip, by default the workspace or the home folder."""
        return AsyncStream(self._chunks(self._call("GET", "/files/archive", path)))

    async def write(
        self, path: str, content: Union[str, bytes, bytearray, memoryview], *, if_match: Optional[str] = None, create: bool = False
    ) -> WrittenFile:
        """Writes atomically and creates parent folders. Raises FileConflictError if the file does not match the etag in `if_match`, or
        if it exists and `create` is set."""
        call = self._call("PUT", "/files/content", path)
        headers: Dict[str, str] = {"content-type": "application/octet-stream"}
        if if_match is not None:
            headers["if-match"] = if_match
        if create:
            headers["if-none-match"] = "*"
        call.headers = headers
        call.body = content.encode("utf-8") if isinstance(content, str) else bytes(content)
        # A retry of a conditional write would conflict with its own first attempt.
        call.repeatable = if_match is None and not create
        return decode(WrittenFile, await self._transport.send_json(call))

    async def list(self, path: str = "") -> List[FileEntry]:
        body = await self._transport.send_json(self._call("GET", "/files", path))
        return [decode(FileEntry, entry) for entry in body["entries"]]

    async def exists(self, path: str) -> bool:
        if path.strip("/") == "":
            return True
        try:
            await self._transport.send(self._call("GET", "/files/stat", path))
            return True
        except FileNotFoundError:
            return False

    async def make_folder(self, path: str) -> None:
        await self._transport.send(self._call("POST", "/files/folder", json={"path": path}))

    async def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        json = {"from": source, "to": target, "overwrite": overwrite}
        await self._transport.send(self._call("POST", "/files/move", json=json))

    async def remove(self, path: str) -> None:
        """Deletes a file, or a folder with its contents."""
        await self._transport.send(self._call("DELETE", "/files", path))

    def _call(self, method: str, route: str, path: Optional[str] = None, *, json: Optional[Dict[str, Any]] = None) -> Call:
        query = {"path": path, "base": self._base}
        return Call(method, f"{self._sandbox_url()}{route}", query=query, json=json)

    async def _chunks(self, call: Call) -> AsyncIterator[bytes]:
        async with self._transport.stream(call) as response:
            async for chunk in response.aiter_bytes():
                yield chunk

"""Snapshots, volumes, keys and session tokens: resources with few calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional
from urllib.parse import quote

from .._page import Page, page_of
from .._types import (
    Key,
    KeyOptions,
    KeyWithSecret,
    RotateOptions,
    RotatedKey,
    SessionToken,
    SessionTokenOptions,
    SessionTokenWithSecret,
    SnapshotData,
    Volume,
    VolumeOptions,
)
from .._wire import decode, to_wire
from ._paging import AsyncPaged
from ._transport import AsyncTransport, Call

if TYPE_CHECKING:
    from typing_extensions import Unpack


class _Resource:
    def __init__(self, transport: AsyncTransport, path: str) -> None:
        self._transport = transport
        self._path = path

    def _at(self, resource_id: str) -> str:
        return f"{self._path}/{quote(resource_id, safe='')}"

    async def _post(self, url: str, json: Dict[str, Any]) -> Any:
        return await self._transport.send_json(Call("POST", url, json=json, idempotency_key=True, repeatable=True))

    async def _send(self, method: str, url: str) -> Any:
        return await self._transport.send_json(Call(method, url))


class AsyncSnapshots(_Resource):
    """Copies of the files of sessions. `session.snapshot()` takes one, and `sessions.create(source={"snapshot_id": …})` uses it."""

    async def get(self, snapshot_id: str) -> SnapshotData:
        return decode(SnapshotData, await self._send("GET", self._at(snapshot_id)))

    def list(self, *, session_id: Optional[str] = None, page_size: Optional[int] = None) -> AsyncPaged[SnapshotData]:
        """Newest first."""

        async def load(cursor: Optional[str]) -> Page[SnapshotData]:
            query = {"sessionId": session_id, "limit": page_size, "cursor": cursor}
            body = await self._transport.send_json(Call("GET", self._path, query=query))
            return page_of(body, lambda item: decode(SnapshotData, item))

        return AsyncPaged(load)

    async def remove(self, snapshot_id: str) -> None:
        """Sessions that were created from it keep their files."""
        await self._send("DELETE", self._at(snapshot_id))


class AsyncVolumes(_Resource):
    """Manages your volumes: named disks that outlive sessions. Mount one with `volumes` when you create a session."""

    async def create(self, **options: Unpack[VolumeOptions]) -> Volume:
        return decode(Volume, await self._post(self._path, to_wire(VolumeOptions, options)))

    async def list(self) -> List[Volume]:
        return [decode(Volume, volume) for volume in (await self._send("GET", self._path))["data"]]

    async def get(self, volume_id: str) -> Volume:
        return decode(Volume, await self._send("GET", self._at(volume_id)))

    async def delete(self, volume_id: str) -> Volume:
        """Deletes the volume with its files. Raises an error with the code `volume_in_use` while a session mounts it."""
        return decode(Volume, await self._send("DELETE", self._at(volume_id)))


class AsyncKeys(_Resource):
    """Manages your API keys. Needs a key with the scope `admin`."""

    async def create(self, **options: Unpack[KeyOptions]) -> KeyWithSecret:
        """This is the only response with the key itself."""
        return decode(KeyWithSecret, await self._post(self._path, to_wire(KeyOptions, options)))

    async def list(self) -> List[Key]:
        return [decode(Key, key) for key in (await self._send("GET", self._path))["data"]]

    async def rotate(self, key_id: str, **options: Unpack[RotateOptions]) -> RotatedKey:
        """Returns a new key with the same name and scope. The old key keeps working for 24 hours, or for `overlap_ms`."""
        return decode(RotatedKey, await self._post(f"{self._at(key_id)}/rotate", to_wire(RotateOptions, options)))

    async def revoke(self, key_id: str) -> Key:
        return decode(Key, await self._send("DELETE", self._at(key_id)))


class AsyncSessionTokens(_Resource):
    """Tokens that open one session, and in it only what their scopes name, for programs and people without your key."""

    async def create(self, **options: Unpack[SessionTokenOptions]) -> SessionTokenWithSecret:
        """This is the only response with the token itself."""
        return decode(SessionTokenWithSecret, await self._post(self._path, to_wire(SessionTokenOptions, options)))

    async def list(self) -> List[SessionToken]:
        """Oldest first."""
        return [decode(SessionToken, token) for token in (await self._send("GET", self._path))["data"]]

    async def revoke(self, token_id: str) -> SessionToken:
        """Takes effect within 5 seconds. Idempotent."""
        return decode(SessionToken, await self._send("DELETE", self._at(token_id)))

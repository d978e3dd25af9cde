from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional
from urllib.parse import quote

from .._results import ExecResult
from .._types import (
    EgressHost,
    ExecEvent,
    ExecOptions,
    LaunchOptions,
    LaunchUrl,
    PreviewOptions,
    PreviewUrl,
    SessionChanges,
    SessionData,
    SessionFields,
    SnapshotData,
)
from .._wire import decode, merge, to_wire
from ._agent import AsyncAgent
from ._exec import Command, Listener, exec_events
from ._files import AsyncFiles
from ._processes import AsyncProcesses
from ._resources import AsyncSessionTokens
from ._runs import AsyncRun, AsyncRuns
from ._streams import AsyncStream
from ._transport import AsyncTransport, Call

if TYPE_CHECKING:
    from typing_extensions import Unpack

PATH = "/api/b2b/sessions"


def path_of(session_id: str) -> str:
    return f"{PATH}/{quote(session_id, safe='')}"


class AsyncSession(SessionFields):
    """A session with its last known `data`, whose fields are attributes too. Methods that change the session update the data."""

    def __init__(self, transport: AsyncTransport, body: Mapping[str, Any]) -> None:
        self._transport = transport
        self.data = decode(SessionData, body)
        self._path = path_of(self.data.session_id)
        self.files = AsyncFiles(transport, self._sandbox_url)
        """The files of the workspace."""
        self.home = AsyncFiles(transport, self._sandbox_url, "home")
        """The files of the whole sandbox: paths are absolute, or relative to the home folder."""
        self.processes = AsyncProcesses(transport, self._sandbox_url)
        self.runs = AsyncRuns(transport, self._path)
        """Work of the coding agent that goes on without its caller."""
        self.tokens = AsyncSessionTokens(transport, f"{self._path}/tokens")
        self.agent = AsyncAgent(transport, self._sandbox_url)
        run = body.get("run")
        self.run: Optional[AsyncRun] = self.runs.get(run["runId"]) if run else None
        """The run of a create with `run`."""

    def __repr__(self) -> str:
        user = "" if self.external_user_id is None else f", external_user_id={self.external_user_id!r}"
        return f"{type(self).__name__}(session_id={self.session_id!r}, status={self.status!r}{user})"

    async def refresh(self) -> AsyncSession:
        return self._apply(await self._transport.send_json(Call("GET", self._path, query={"expand": "details"})))

    async def update(self, **changes: Unpack[SessionChanges]) -> AsyncSession:
        call = Call("PATCH", self._path, query={"expand": "details"}, json=to_wire(SessionChanges, changes))
        return self._apply(await self._transport.send_json(call))

    async def pause(self) -> AsyncSession:
        return self._apply(await self._post("pause"))

    async def resume(self, *, auto_start_agent: Optional[bool] = None) -> AsyncSession:
        return self._apply(await self._post("resume", {} if auto_start_agent is None else {"autoStartAgent": auto_start_agent}))

    async def destroy(self) -> AsyncSession:
        """Permanently deletes the session and its files. Idempotent."""
        return self._apply(await self._transport.send_json(Call("DELETE", self._path)))

    async def retry_source(self) -> AsyncSession:
        """Fetches the repository again, after it has failed."""
        return self._apply(await self._post("source/retry"))

    async def launch_url(self, **options: Unpack[LaunchOptions]) -> LaunchUrl:
        """A signed URL that opens the workspace in your user's browser. It expires after a few minutes."""
        return decode(LaunchUrl, await self._post("launch-url", to_wire(LaunchOptions, options) or None))

    async def preview_url(self, port: int, **options: Unpack[PreviewOptions]) -> PreviewUrl:
        """A signed URL that opens one port of the sandbox in a browser. Everyone who has the URL can use it."""
        return decode(PreviewUrl, await self._post("preview-url", {"port": port, **to_wire(PreviewOptions, options)}))

    async def egress_log(self) -> List[EgressHost]:
        """The hosts that the sandbox reached or tried to reach, the last used first."""
        body = await self._transport.send_json(Call("GET", f"{self._path}/egress"))
        return [decode(EgressHost, host) for host in body["data"]]

    async def snapshot(self, *, name: Optional[str] = None) -> SnapshotData:
        """Copies the files of the session, which may be running or paused."""
        return decode(SnapshotData, await self._post("snapshots", {} if name is None else {"name": name}, is_long=True))

    async def exec(
        self, command: Command, *, on_stdout: Listener = None, on_stderr: Listener = None, **options: Unpack[ExecOptions]
    ) -> ExecResult:
        """Returns the complete output when the command has exited. A failed command does not raise: check `exit_code`. A string is run
        by `sh -c`; a list is executed without a shell."""
        outputs: Dict[str, List[str]] = {"stdout": [], "stderr": []}
        listeners = {"stdout": on_stdout, "stderr": on_stderr}
        async with self.exec_stream(command, **options) as events:
            async for event in events:
                if event.type == "exit":
                    stdout, stderr = ("".join(parts) for parts in outputs.values())
                    return ExecResult(stdout, stderr, event.code, event.signal, bool(event.timed_out))
                # A newer service may send kinds of events that this version does not know.
                if event.type in outputs:
                    outputs[event.type].append(event.data)
                    listener = listeners[event.type]
                    if listener:
                        listener(event.data)
        raise AssertionError("exec_stream ends with `exit` or raises")

    def exec_stream(self, command: Command, **options: Unpack[ExecOptions]) -> AsyncStream[ExecEvent]:
        """Yields output as it arrives; the last event is `exit`. Leaving the loop kills the command."""
        return AsyncStream(exec_events(self._transport, self.sandbox_url, command, dict(options)))

    def _sandbox_url(self) -> str:
        return self.sandbox_url

    def _apply(self, changes: Mapping[str, Any]) -> AsyncSession:
        self.data = merge(self.data, changes)
        return self

    async def _post(self, action: str, json: Optional[Dict[str, Any]] = None, *, is_long: bool = False) -> Any:
        call = Call("POST", f"{self._path}/{action}", json=json, idempotency_key=True, repeatable=True, is_long=is_long)
        return await self._transport.send_json(call)

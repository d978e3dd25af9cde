from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Union
from urllib.parse import quote

from .._results import ProcessOutput
from .._types import ProcessData, ProcessEvent, ProcessOptions
from .._wire import decode, to_wire
from ._follow import ask_until, follow
from ._streams import AsyncStream
from ._transport import AsyncTransport, Call

if TYPE_CHECKING:
    from typing_extensions import Literal, Unpack

WAIT_MS = 30_000


class AsyncProcesses:
    """Programs that go on without their caller."""

    def __init__(self, transport: AsyncTransport, sandbox_url: Callable[[], str]) -> None:
        self._transport = transport
        self._sandbox_url = sandbox_url

    async def start(self, command: Union[str, Sequence[str]], **options: Unpack[ProcessOptions]) -> AsyncProcess:
        """A string is run by `sh -c`; a list is executed without a shell."""
        json = to_wire(ProcessOptions, options)
        json["command" if isinstance(command, str) else "args"] = command if isinstance(command, str) else list(command)
        return self._bind(await self._transport.send_json(Call("POST", self._url(), json=json)))

    async def get(self, process_id: str) -> AsyncProcess:
        return self._bind(await self._transport.send_json(Call("GET", self._url(f"/{quote(process_id, safe='')}"))))

    async def list(self) -> List[ProcessData]:
        body = await self._transport.send_json(Call("GET", self._url()))
        return [decode(ProcessData, process) for process in body["processes"]]

    def _url(self, path: str = "") -> str:
        return f"{self._sandbox_url()}/processes{path}"

    def _bind(self, body: Any) -> AsyncProcess:
        data = decode(ProcessData, body)
        return AsyncProcess(self._transport, data, lambda path: self._url(f"/{data.id}{path}"))


class AsyncProcess:
    def __init__(self, transport: AsyncTransport, data: ProcessData, url: Callable[[str], str]) -> None:
        self._transport = transport
        self._url = url
        self.id = data.id
        self.data = data
        """As it was when this object was made."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, command={self.data.command!r})"

    async def refresh(self) -> ProcessData:
        return decode(ProcessData, await self._transport.send_json(Call("GET", self._url(""))))

    def follow(self) -> AsyncStream[ProcessEvent]:
        """Yields the output that is kept, and what follows until the end. A lost connection is opened again, and nothing is repeated."""
        return AsyncStream(follow(self._transport, self._url("/events"), ProcessEvent))

    async def read(self, *, stream: Optional[Literal["stdout", "stderr"]] = None, offset: Optional[int] = None) -> ProcessOutput:
        """The output that is kept, from a byte on."""
        reply = await self._transport.send(Call("GET", self._url("/output"), query={"stream": stream, "offset": offset}))
        return ProcessOutput(reply.text(), int(reply.headers["x-output-next"]), int(reply.headers["x-output-dropped"]))

    async def wait(self) -> ProcessData:
        """Returns when the process has ended, however long that takes. Half a minute of a pause or without a server is not an error."""

        async def ask() -> Optional[ProcessData]:
            call = Call("POST", self._url("/wait"), query={"timeoutMs": WAIT_MS}, repeatable=True)
            now = decode(ProcessData, await self._transport.send_json(call))
            return None if now.status == "running" else now

        return await ask_until(ask)

    async def write(self, content: Union[str, bytes]) -> None:
        await self._post("/stdin", body=content.encode("utf-8") if isinstance(content, str) else content)

    async def close_input(self) -> None:
        await self._post("/stdin/close")

    async def resize(self, *, cols: int, rows: int) -> None:
        await self._post("/resize", json={"cols": cols, "rows": rows})

    async def signal(self, signal: str) -> None:
        await self._post("/signal", json={"signal": signal})

    async def remove(self) -> None:
        """Ends it, if it runs, and forgets it."""
        await self._transport.send(Call("DELETE", self._url("")))

    async def _post(self, path: str, *, json: Optional[Dict[str, Any]] = None, body: Optional[bytes] = None) -> None:
        await self._transport.send(Call("POST", self._url(path), json=json, body=body))

from __future__ import annotations

from typing import Any, AsyncIterator, Callable, Dict, Optional, Sequence, Union

from .._errors import BerthError, ConnectionError
from .._types import ExecEvent, ExecOptions
from .._wire import decode_any, to_wire
from ._streams import json_lines
from ._transport import AsyncTransport, Call

Command = Union[str, Sequence[str]]
Listener = Optional[Callable[[str], object]]


async def exec_events(transport: AsyncTransport, sandbox_url: str, command: Command, options: Dict[str, Any]) -> AsyncIterator[ExecEvent]:
    json = {"command": command if isinstance(command, str) else list(command), **to_wire(ExecOptions, options)}
    async with transport.stream(Call("POST", f"{sandbox_url}/exec", json=json)) as response:
        async for event in json_lines(response):
            # The sandbox sends this instead of `exit` if the command could not be started, or if the session was paused or destroyed.
            if event["type"] == "error":
                raise BerthError(event["message"], code=event.get("code") or "exec_failed")
            yield decode_any(ExecEvent, event)
            if event["type"] == "exit":
                return
    raise ConnectionError("The connection closed before the command exited", code="connection_failed")

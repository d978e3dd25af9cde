"""Splits the bytes of a response into lines, and lines into server-sent events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional


class LineSplitter:
    def __init__(self) -> None:
        self._rest: List[bytes] = []

    def feed(self, chunk: bytes) -> List[str]:
        # Only a line feed ends a line: output may contain other characters that Python takes for ends of lines.
        first, *others = chunk.split(b"\n")
        self._rest.append(first)
        if not others:
            return []
        lines = [b"".join(self._rest), *others[:-1]]
        self._rest = [others[-1]]
        return [_text(line) for line in lines]

    def end(self) -> List[str]:
        rest = b"".join(self._rest)
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    text = line.decode("utf-8", errors="replace")
    return text[:-1] if text.endswith("\r") else text


@dataclass(frozen=True)
class ServerSentEvent:
    id: Optional[str]
    data: str


class EventParser:
    def __init__(self) -> None:
        self._id: Optional[str] = None
        self._data: List[str] = []

    def feed(self, line: str) -> Optional[ServerSentEvent]:
        if line == "":
            data, self._data = self._data, []
            return ServerSentEvent(self._id, "\n".join(data)) if data else None
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        return None

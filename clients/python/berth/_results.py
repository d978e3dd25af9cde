"""Results that combine several messages of the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class ExecResult:
    stdout: str
    stderr: str
    exit_code: Optional[int]
    """None if a signal ended the command."""
    signal: Optional[str]
    timed_out: bool


@dataclass(frozen=True)
class AgentAnswer:
    text: str
    conversation_id: str
    stop_reason: str


@dataclass(frozen=True)
class ProcessOutput:
    text: str
    next: int
    """The offset for the next read."""
    dropped_bytes: int


@dataclass(frozen=True)
class ForkFault:
    code: str
    message: str

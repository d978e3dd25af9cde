"""The Python client of Berth's partner API: create and control coding sessions for the users of your product."""

from . import _errors, _types
from ._async._agent import AsyncAgent
from ._async._client import AsyncBerth
from ._async._events import AsyncEvents
from ._async._files import AsyncFiles
from ._async._paging import AsyncPaged
from ._async._processes import AsyncProcess, AsyncProcesses
from ._async._resources import AsyncKeys, AsyncSessionTokens, AsyncSnapshots, AsyncVolumes
from ._async._runs import AsyncRun, AsyncRuns
from ._async._session import AsyncSession
from ._async._sessions import AsyncForkResult, AsyncSessions
from ._async._streams import AsyncStream
from ._async._webhooks import AsyncWebhooks
from ._errors import *
from ._page import Page
from ._results import AgentAnswer, ExecResult, ForkFault, ProcessOutput
from ._sync._agent import Agent
from ._sync._client import Berth
from ._sync._events import Events
from ._sync._files import Files
from ._sync._paging import Paged
from ._sync._processes import Process, Processes
from ._sync._resources import Keys, SessionTokens, Snapshots, Volumes
from ._sync._runs import Run, Runs
from ._sync._session import Session
from ._sync._sessions import ForkResult, Sessions
from ._sync._streams import Stream
from ._sync._webhooks import Webhooks
from ._types import *
from ._webhook import verify_webhook
from ._wire import Unknown

__version__ = "0.0.0"

__all__ = [
    "Agent",
    "AgentAnswer",
    "AsyncAgent",
    "AsyncBerth",
    "AsyncEvents",
    "AsyncFiles",
    "AsyncForkResult",
    "AsyncKeys",
    "AsyncPaged",
    "AsyncProcess",
    "AsyncProcesses",
    "AsyncRun",
    "AsyncRuns",
    "AsyncSession",
    "AsyncSessionTokens",
    "AsyncSessions",
    "AsyncSnapshots",
    "AsyncStream",
    "AsyncVolumes",
    "AsyncWebhooks",
    "Berth",
    "Events",
    "ExecResult",
    "Files",
    "ForkFault",
    "ForkResult",
    "Keys",
    "Page",
    "Paged",
    "Process",
    "ProcessOutput",
    "Processes",
    "Run",
    "Runs",
    "Session",
    "SessionTokens",
    "Sessions",
    "Snapshots",
    "Stream",
    "Unknown",
    "Volumes",
    "Webhooks",
    "verify_webhook",
]
__all__ += _errors.__all__
__all__ += _types.__all__

from __future__ import annotations

import builtins
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Dict, List, Mapping, Optional, Type

__all__ = [
    "BerthError",
    "ConnectionError",
    "FieldFault",
    "FileConflictError",
    "FileNotFoundError",
    "NotFoundError",
    "QuotaError",
    "RateLimitError",
    "ServerError",
    "SessionConflictError",
    "SessionNotFoundError",
    "TimeoutError",
    "UnauthorizedError",
    "ValidationError",
    "WebhookVerificationError",
]


@dataclass(frozen=True)
class FieldFault:
    field: str
    message: str


class BerthError(Exception):
    """Every error is a BerthError. Use the subclasses with `except`, and `code` for finer distinctions. The message is for
    people and may change."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "unknown",
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        details: Optional[List[FieldFault]] = None,
        retry_after_ms: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        """A stable code such as `session_already_paused`."""
        self.status = status
        """The HTTP status; None if there was no response."""
        self.request_id = request_id
        """Include it when you ask the operator for help."""
        self.details = details
        self.retry_after_ms = retry_after_ms


class ValidationError(BerthError):
    """The request is invalid; `details` names the fields."""


class UnauthorizedError(BerthError):
    """The key is missing, unknown, expired or revoked."""


class NotFoundError(BerthError):
    pass


class SessionNotFoundError(NotFoundError):
    """The session does not exist, or is destroyed."""


# These three are also Python's own errors of the same name, so that an `except` without an import catches them too.
class FileNotFoundError(NotFoundError, builtins.FileNotFoundError):
    """The file does not exist."""


class ConnectionError(BerthError, builtins.ConnectionError):
    """The service could not be reached, or the connection broke."""


class TimeoutError(ConnectionError, builtins.TimeoutError):
    """There was no response in time."""


class SessionConflictError(BerthError):
    """The session's state does not allow the call: it is already paused, already running, or busy."""


class QuotaError(SessionConflictError):
    """The limit of live sessions is reached."""


class FileConflictError(BerthError):
    """The file already exists, or has changed since it was read."""


class RateLimitError(BerthError):
    """Too many requests."""


class ServerError(BerthError):
    """The service failed."""


class WebhookVerificationError(BerthError):
    """The service did not send this webhook."""


_BY_CODE: Dict[str, Type[BerthError]] = {
    "session_not_found": SessionNotFoundError,
    "session_quota": QuotaError,
    "session_already_paused": SessionConflictError,
    "session_already_running": SessionConflictError,
    "session_paused": SessionConflictError,
    "session_busy": SessionConflictError,
}

# The codes of the daemon in the sandbox.
_BY_SANDBOX_CODE: Dict[str, Type[BerthError]] = {
    "not_found": FileNotFoundError,
    "exists": FileConflictError,
    "changed": FileConflictError,
    "agent_busy": SessionConflictError,
}

_BY_STATUS: Dict[int, Type[BerthError]] = {
    400: ValidationError,
    401: UnauthorizedError,
    404: NotFoundError,
    409: SessionConflictError,
    429: RateLimitError,
}


def error_from(status: int, headers: Mapping[str, str], body: Any) -> BerthError:
    """The API sends its code only in a header; the sandbox repeats it in the body."""
    fields: Dict[str, Any] = body if isinstance(body, dict) else {}
    sandbox_code = fields.get("code")
    code = sandbox_code or headers.get("x-error-code") or f"http_{status}"
    known = (_BY_SANDBOX_CODE if sandbox_code else _BY_CODE).get(code)
    kind = known or _BY_STATUS.get(status) or (ServerError if status >= 500 else BerthError)
    details = [FieldFault(str(fault.get("field")), str(fault.get("message"))) for fault in fields.get("details") or []]
    return kind(
        _message_of(fields.get("error"), details, status),
        code=code,
        status=status,
        request_id=headers.get("x-request-id"),
        details=details or None,
        retry_after_ms=_retry_after_of(headers.get("retry-after")),
    )


def _message_of(error: Optional[str], details: List[FieldFault], status: int) -> str:
    faults = "; ".join(f"{fault.field}: {fault.message}" for fault in details)
    if faults:
        return f"{error or 'Validation failed'} ({faults})"
    return error or f"The service responded with status {status}"


def _retry_after_of(text: Optional[str]) -> Optional[float]:
    """The header has seconds or a date."""
    if not text:
        return None
    if text.isdecimal():
        return int(text) * 1000.0
    try:
        return max(0.0, (parsedate_to_datetime(text).timestamp() - time.time()) * 1000)
    except (TypeError, ValueError):
        return None

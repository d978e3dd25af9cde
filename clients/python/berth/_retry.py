"""When a failed call is sent again, and after which time."""

from __future__ import annotations

import random
from typing import Optional

from ._errors import BerthError, ConnectionError

MAX_WAIT_MS = 60_000
TIMEOUT_MS = 60_000
# Calls that copy files or wait for a repository.
LONG_TIMEOUT_MS = 5 * 60_000

# The service refuses with these codes before it changes anything.
_REFUSALS = {"rate_limited", "capacity_reached", "unavailable", "store_unavailable", "idempotency_in_flight", "session_busy"}

# While the session is paused, or its setup runs, what goes on in it is still there.
_PASSING = {"session_paused", "run_waiting"}


def retry_wait_ms(error: BerthError, attempt: int, max_retries: int, repeatable: bool) -> Optional[float]:
    """None if the call must not be sent again: it may have been executed, or it has failed too often."""
    wait_ms = _back_off_ms(attempt) if error.retry_after_ms is None else error.retry_after_ms
    if attempt >= max_retries or wait_ms > MAX_WAIT_MS or not _can_retry(error, repeatable):
        return None
    return wait_ms


def _can_retry(error: BerthError, repeatable: bool) -> bool:
    if error.code in _REFUSALS or error.status == 429:
        return True
    return repeatable and (error.status is None or error.status in (500, 502, 503, 504))


def _back_off_ms(attempt: int) -> float:
    """0.2, 0.4, 0.8 … 5 s. Random jitter of up to half keeps clients from retrying in lockstep."""
    return min(200.0 * float(2**attempt), 5000.0) * (1 - random.random() / 2)


def may_continue(error: BerthError) -> bool:
    """Whether something that goes on without its caller may be followed again after this error."""
    return isinstance(error, ConnectionError) or error.code in _PASSING or (error.status or 0) >= 500

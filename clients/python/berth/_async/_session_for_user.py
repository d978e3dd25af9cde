"""Returns the user's session: the newest live one, resumed if it is paused, or else a new one.

Concurrent calls get the same session, also from several processes. All of them that find no live session derive the same idempotency key
from the user's last destroyed session, so the service creates one session for all of them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Optional, Tuple

import anyio

from .._errors import BerthError, SessionConflictError, SessionNotFoundError

if TYPE_CHECKING:
    from .._types import SessionOptions
    from ._session import AsyncSession
    from ._sessions import AsyncSessions

# About a minute, the time that a create may take.
MAX_ROUNDS = 35


async def session_for_user(sessions: AsyncSessions, external_user_id: str, options: SessionOptions) -> AsyncSession:
    for attempt in range(MAX_ROUNDS):
        live, last_destroyed_id = await _find_latest(sessions, external_user_id)
        if live:
            session = await _resume_if_paused(live, options)
        else:
            session = await _create_once(sessions, external_user_id, options, last_destroyed_id)
        if session:
            return session
        # Another caller's create may still be under way.
        await anyio.sleep(min(0.1 * 2**attempt, 2))
    raise SessionConflictError("The user's sessions change too quickly; try again", code="session_busy", status=409)


async def _find_latest(sessions: AsyncSessions, external_user_id: str) -> Tuple[Optional[AsyncSession], str]:
    """One list, not one per status: a session that is resumed between two lists would be in neither."""
    last_destroyed_id = ""
    async for session in sessions.list(external_user_id=external_user_id, page_size=100):
        if session.status != "destroyed":
            return session, last_destroyed_id
        last_destroyed_id = last_destroyed_id or session.session_id
    return None, last_destroyed_id


async def _resume_if_paused(session: AsyncSession, options: SessionOptions) -> Optional[AsyncSession]:
    """None if the session has been destroyed in the meantime."""
    if session.status == "running":
        return session
    try:
        return await session.resume(auto_start_agent=options.get("auto_start_agent"))
    except SessionNotFoundError:
        return None
    except SessionConflictError as error:
        if error.code != "session_already_running":
            raise
        return await session.refresh()


async def _create_once(
    sessions: AsyncSessions, external_user_id: str, options: SessionOptions, last_destroyed_id: str
) -> Optional[AsyncSession]:
    """None if another caller creates the session at the moment or has created it with other settings, or if it has been destroyed
    since."""
    # The TypeScript client makes the same key, so that programs in both languages get one session.
    named = json.dumps([external_user_id, last_destroyed_id], ensure_ascii=False, separators=(",", ":"))
    key = f"for-user-{hashlib.sha256(named.encode('utf-8')).hexdigest()}"
    try:
        session = await sessions.create(external_user_id=external_user_id, idempotency_key=key, **options)
        # The response may be that of an earlier call.
        await session.refresh()
        return None if session.status == "destroyed" else await _resume_if_paused(session, options)
    except SessionNotFoundError:
        return None
    except BerthError as error:
        if error.code in ("idempotency_mismatch", "idempotency_in_flight"):
            return None
        raise

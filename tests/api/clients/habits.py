"""Behaviour that people expect of a Python package and that no other client has. The standard input says which server, as JSON."""

import json
import os
import pickle
import signal
import sys
import threading
import time
import traceback

import anyio
from berth import AsyncBerth, Berth, SessionNotFoundError

facts = json.load(sys.stdin)
berth = Berth(base_url=facts["baseUrl"], api_key=facts["apiKey"])
seen = {}


def sleepers():
    for _ in range(100):
        count = session.exec("pgrep -c sleep || true").stdout
        if count == "0\n":
            break
        time.sleep(0.1)
    return count


def message_of(call):
    try:
        call()
    except TypeError as error:
        return str(error)


long = message_of(lambda: berth.sessions.create(external_user_id="habits", auto_start=False))
seen["a wrong option"] = long[: long.index("idle_timeout_ms")] + "…"
seen["a wrong option inside of another"] = message_of(
    lambda: berth.sessions.create(external_user_id="habits", source={"git": {"url": "https://example.com/a.git", "branch": "x"}})
)
seen["the client"] = repr(berth)
berth.sessions.create(external_user_id="habits", auto_start_agent=False)
(session,) = berth.sessions.list(external_user_id="habits")
seen["a session"] = repr(session)
created = berth.keys.create(name="habits", scope="read")
seen["the secret in a key as text"] = created.key in repr(created)
berth.keys.revoke(created.id)

try:
    berth.sessions.get("ses_nothing")
except SessionNotFoundError as error:
    copy = pickle.loads(pickle.dumps(error))
    seen["an error after pickling"] = [type(copy).__name__, copy.code, copy.status]
try:
    session.files.read("absent")
except FileNotFoundError:
    seen["Python's own error"] = True
try:
    Berth(base_url="http://127.0.0.1:9", api_key=facts["apiKey"], max_retries=0).sessions.get("ses_1")
except ConnectionError as error:
    seen["what an error shows of the key"] = facts["apiKey"] in "".join(traceback.format_exception(error))

try:
    for event in session.exec_stream("echo begun; sleep 60"):
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
except KeyboardInterrupt:
    pass
seen["a command after Ctrl-C"] = sleepers()


async def cancel():
    async with AsyncBerth(base_url=facts["baseUrl"], api_key=facts["apiKey"]) as client:
        lent = await client.sessions.get(session.session_id)
        with anyio.CancelScope() as scope:
            await lent.exec("echo begun; sleep 60", on_stdout=lambda _: scope.cancel())
        # The client is still open, so that only the cancellation can end the command.
        return await anyio.to_thread.run_sync(sleepers)


seen["a command after a cancelled scope"] = anyio.run(cancel)
session.destroy()
print(json.dumps(seen))

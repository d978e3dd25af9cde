"""Runs the samples in Python, one after the other in one process. The standard input has them as JSON. Each of them may use what it does
not define: a user, a session, and functions of its reader."""

import ast
import asyncio
import base64
import hashlib
import hmac
import inspect
import json
import os
import sys
import time
from types import SimpleNamespace

import berth as package

facts = json.load(sys.stdin)
os.environ["BERTH_API_KEY"] = facts["apiKey"]
os.chdir(facts["folder"])


class Enough(Exception):
    """The stream of events has no end."""


def handle(event):
    raise Enough


def ignore(*_):
    pass


def nightly_end():
    for nightly in client.sessions.list(status="running", external_user_id="nightly"):
        for run in nightly.runs.list():
            nightly.runs.get(run.run_id).wait()
            return {"type": "run.finished", "data": {"sessionId": nightly.session_id, "runId": run.run_id}}


def signed_request(webhook_secret):
    event = nightly_end() or {"type": "session.timeout_warning", "data": {"sessionId": session.session_id}}
    body = json.dumps({"id": "evt_1", "timestamp": "", **event}).encode()
    sent = str(int(time.time()))
    key = base64.b64decode(webhook_secret[len("whsec_") :])
    signature = base64.b64encode(hmac.new(key, b"evt_1." + sent.encode() + b"." + body, hashlib.sha256).digest()).decode()
    return SimpleNamespace(body=body, headers={"webhook-id": "evt_1", "webhook-timestamp": sent, "webhook-signature": f"v1,{signature}"})


# The secret may exist only after the first half of a sample.
class Request:
    @property
    def body(self):
        self.received = signed_request(scope["secret"])
        return self.received.body

    @property
    def headers(self):
        return self.received.headers


def tidy():
    """Leaves what later samples need."""
    session.refresh()
    if session.status == "paused":
        session.resume()
    for other in client.sessions.list(status="running"):
        if other.external_user_id != "nightly" and other.session_id != session.session_id:
            other.destroy()


client = package.Berth(base_url=facts["baseUrl"])
session = client.sessions.create(external_user_id="reader")
session.files.write("output/chart.png", b"\x89PNG")
secret = client.webhooks.create(url="https://you.example.com/hooks/berth").secret
names = dict(
    asyncio=asyncio,
    os=os,
    berth=client,
    session=session,
    session_id=session.session_id,
    secret=secret,
    token=facts["token"],
    user=SimpleNamespace(id="reader"),
    order=SimpleNamespace(id="1"),
    repository="/nowhere",
    csv="1,2\n",
    task="Say hello",
    approaches=["politely", "loudly"],
    request=Request(),
    last_seen_id=next(client.events.list()).id,
    key_id=client.keys.create(name="reader", scope="read").id,
    handle=handle,
    **dict.fromkeys(["forget", "notify", "redirect", "save_secret", "bill"], ignore),
)
failures = {}
for name, text in facts["samples"].items():
    received = signed_request(secret)
    scope = {**names, "raw_body": received.body, "headers": received.headers}
    try:
        code = compile(text, "<sample>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, scope)
        if inspect.isawaitable(result):
            asyncio.run(result)
    except Enough:
        pass
    except Exception as error:
        failures[name] = f"{type(error).__name__}: {error}"
    tidy()
print("\n" + json.dumps(failures))

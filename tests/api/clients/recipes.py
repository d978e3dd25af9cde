"""Runs the samples of the Python client's documentation, one after the other, as one program. The standard input has them as JSON. Each of
them may use what it does not define: a user, a session, and functions of its reader."""

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


def signed_request(webhook_secret):
    body = b'{"id": "evt_1", "type": "session.timeout_warning", "timestamp": "", "data": {"sessionId": "ses_1"}}'
    sent = str(int(time.time()))
    key = base64.b64decode(webhook_secret[len("whsec_") :])
    signature = base64.b64encode(hmac.new(key, b"evt_1." + sent.encode() + b"." + body, hashlib.sha256).digest()).decode()
    return SimpleNamespace(body=body, headers={"webhook-id": "evt_1", "webhook-timestamp": sent, "webhook-signature": f"v1,{signature}"})


client = package.Berth(base_url=facts["baseUrl"])
session = client.sessions.create(external_user_id="reader", template="scripted", auto_start_agent=False)
session.files.write("agent.mjs", facts["agent"])
session.files.write("output/chart.png", b"\x89PNG")


# The secret exists only after the first half of its sample.
class Request:
    @property
    def body(self):
        return signed_request(scope["secret"]).body

    @property
    def headers(self):
        return signed_request(scope["secret"]).headers


names = dict(asyncio=asyncio, os=os, user=SimpleNamespace(id="reader"), order=SimpleNamespace(id="1"), repository="/nowhere", csv="1,2\n")
names.update(forget=ignore, notify=ignore, redirect=ignore, save_secret=ignore, bill=ignore, handle=handle, last_seen_id=next(client.events.list()).id)
names.update(request=Request(), key_id=client.keys.create(name="reader", scope="read").id)
failures = []
for text in facts["samples"]:
    scope = {**names, "berth": client, "session": session}
    try:
        # npm takes a second to say that there is no package.
        local = text.replace("https://berth.example.com", facts["baseUrl"]).replace('"npm ', '"echo npm ')
        code = compile(local, "<sample>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, scope)
        if inspect.isawaitable(result):
            asyncio.run(result)
    except Enough:
        pass
    except Exception as error:
        failures.append(f"{text.splitlines()[0]} -> {type(error).__name__}: {error}")
    session.refresh()
    if session.status == "paused":
        session.resume()
print(json.dumps(failures))
for left in client.sessions.list():
    left.destroy()
for snapshot in client.snapshots.list():
    client.snapshots.remove(snapshot.id)
for webhook in client.webhooks.list():
    client.webhooks.remove(webhook.id)

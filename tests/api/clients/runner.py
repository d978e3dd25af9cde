"""Makes the calls of journeys with the Python client. Reads lines of JSON, each with the calls of one step, and writes their outcomes.
`sync` or `async` says which client: `runner.py sync '{"baseUrl": …, "apiKey": …}'`."""

import asyncio
import dataclasses
import inspect
import json
import re
import sys

import berth as package

# What is in these is the caller's own.
RECORDS = {"metadata", "env_vars", "env", "values"}
kind = sys.argv[1]
connection = json.loads(sys.argv[2])


def snake(name):
    # The names of headers stay as they are.
    if "-" in name:
        return name
    words = re.sub(r"[A-Z]", lambda match: "_" + match.group(0).lower(), name)
    return "from_" if words == "from" else words


def camel(name):
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), name.rstrip("_"))


def to_python(value):
    if isinstance(value, list):
        return [to_python(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {snake(name): part if snake(name) in RECORDS else to_python(part) for name, part in value.items()}


def plain(value):
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (package.Session, package.AsyncSession)):
        return plain(value.data)
    # An object with more fields than the API describes.
    if isinstance(value, package.Unknown.__bases__):
        return value.raw
    if dataclasses.is_dataclass(value):
        return {camel(field.name): plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (package.Process, package.AsyncProcess)):
        return {"id": value.id, "data": plain(value.data)}
    if isinstance(value, (package.Run, package.AsyncRun)):
        return {"id": value.id}
    return value if isinstance(value, (str, int, float, bool, type(None))) else {}


def connect(**options):
    client = package.Berth if kind == "sync" else package.AsyncBerth
    return client(**{**to_python(connection), **options})


kept = {"berth": connect(), "connect": connect, "verify_webhook": package.verify_webhook}


def find(path):
    first, *rest = [snake(part) for part in path.split(".")]
    found = kept[first]
    for part in rest:
        found = getattr(found, part)
    return found


def collect(value, take):
    if isinstance(value, (str, bytes, list)) or not hasattr(value, "__iter__"):
        return value
    items = []
    for item in value:
        items.append(item)
        if len(items) == take:
            break
    return items


async def collect_async(value, take):
    value = await value if inspect.isawaitable(value) else value
    if not hasattr(value, "__aiter__"):
        return collect(value, take)
    items = []
    async for item in value:
        items.append(item)
        if len(items) == take:
            break
    return items


async def perform(call):
    arguments, options, take = to_python(call.get("args") or []), to_python(call.get("options") or {}), call.get("take")
    try:
        method = find(call["call"])
        if kind == "sync":
            value = await asyncio.to_thread(lambda: collect(method(*arguments, **options), take))
        else:
            value = await collect_async(method(*arguments, **options), take)
        if call.get("keep"):
            kept[snake(call["keep"])] = value
        return {"value": plain(value)}
    except Exception as error:
        facts = {camel(name): getattr(error, name, None) for name in ("code", "status", "retry_after_ms")}
        return {"error": {"name": type(error).__name__, "message": str(error), **facts}}


async def main():
    while True:
        line = await asyncio.to_thread(sys.stdin.readline)
        if not line:
            return
        outcomes = await asyncio.gather(*(perform(call) for call in json.loads(line)))
        print(json.dumps(outcomes), flush=True)


asyncio.run(main())

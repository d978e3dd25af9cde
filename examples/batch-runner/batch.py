"""Runs jobs in fresh sessions, a few at a time: python3 batch.py jobs.json --parallel 4 --results results

If this program is killed, start it again with the same folder: finished jobs are skipped, and jobs that still run are followed.
"""

import argparse
import asyncio
import json
import os
import sys
import uuid
from pathlib import Path

from berth import AsyncBerth, AsyncSession, BerthError

MINUTE_MS = 60_000


async def main() -> int:
    options = argparse.ArgumentParser(description="Runs jobs in fresh sessions")
    options.add_argument("jobs", type=Path, help="a JSON list of {name, command, files, artifacts, attempts, timeoutMs}")
    options.add_argument("--parallel", type=int, default=4)
    options.add_argument("--results", type=Path, default=Path("results"))
    given = options.parse_args()
    jobs = json.loads(given.jobs.read_text())
    given.results.mkdir(parents=True, exist_ok=True)
    batch = batch_id(given.results)
    slots = asyncio.Semaphore(given.parallel)
    async with AsyncBerth(base_url=os.environ.get("BERTH_URL", "http://localhost:8080")) as berth:

        async def limited(job: dict) -> int:
            async with slots:
                return await run_job(berth, batch, job, given.jobs.parent, given.results)

        try:
            codes = await asyncio.gather(*(limited(job) for job in jobs))
        finally:
            # Also after Ctrl-C. The timeout of the sessions covers what a killed program leaves.
            async for session in berth.sessions.list(metadata={"batch": batch}):
                if session.status != "destroyed":
                    await session.destroy()
    failed = [job["name"] for job, code in zip(jobs, codes) if code != 0]
    print(f"{len(jobs) - len(failed)} of {len(jobs)} jobs succeeded", *(f"failed: {name}" for name in failed), sep="\n")
    return 1 if failed else 0


def batch_id(results: Path) -> str:
    """The same for every start with this folder."""
    path = results / "batch-id"
    if not path.exists():
        path.write_text(str(uuid.uuid4()))
    return path.read_text()


async def run_job(berth: AsyncBerth, batch: str, job: dict, folder: Path, results: Path) -> int:
    done = results / f"{job['name']}.json"
    if done.exists():
        print(f"[{job['name']}] finished before")
        return json.loads(done.read_text())["exitCode"]
    attempts, attempt, number = job.get("attempts", 1), 0, 0
    while True:
        number += 1
        session, code = None, 1
        try:
            session, code = await run_attempt(berth, f"{batch}/{job['name']}/{number}", batch, job, folder, results)
            if session.status == "destroyed":
                continue  # It belonged to an attempt of an earlier start, which was interrupted.
        except BerthError as error:
            print(f"[{job['name']}] {error}", flush=True)
        attempt += 1
        is_over = code == 0 or attempt == attempts
        if is_over:
            save(done, {"exitCode": code, "attempts": attempt})
        # After the result is saved, so that a killed program never loses it.
        if session:
            await session.destroy()
        if is_over:
            return code


def save(path: Path, result: dict) -> None:
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(result))
    unfinished.rename(path)


async def run_attempt(berth: AsyncBerth, key: str, batch: str, job: dict, folder: Path, results: Path) -> "tuple[AsyncSession, int]":
    name = job["name"]
    timeout_ms = job.get("timeoutMs", 10 * MINUTE_MS)
    # The key makes a second create of the same attempt return the session of the first one.
    session = await berth.sessions.create(
        external_user_id="batch",
        metadata={"batch": batch, "job": name},
        auto_start_agent=False,
        timeout_ms=timeout_ms + 5 * MINUTE_MS,
        on_timeout="destroy",
        idempotency_key=key,
    )
    await session.refresh()
    if session.status == "destroyed":
        return session, 1
    started = [process for process in await session.processes.list() if process.name == name]
    if started:
        process = await session.processes.get(started[0].id)
    else:
        for file in job.get("files", []):
            await session.files.write(file, (folder / file).read_bytes())
        process = await session.processes.start(job["command"], name=name, timeout_ms=timeout_ms)
    line = ""
    with open(results / f"{name}.log", "w") as log:
        async for event in process.follow():
            if event.type == "output":
                log.write(event.data)
                *lines, line = (line + event.data).split("\n")
                for each in lines:
                    print(f"[{name}] {each}", flush=True)
    # A job that was killed, or whose sandbox was lost, has no exit code.
    code = (await process.wait()).exit_code
    code = 1 if code is None else code
    for artifact in job.get("artifacts", []):
        await download(session, artifact, results / name / f"{artifact}.zip")
    print(f"[{name}] exit {code}", flush=True)
    return session, code


async def download(session: AsyncSession, folder: str, target: Path) -> None:
    """Saves a folder of the session as a zip, if the job has made it."""
    if not await session.files.exists(folder):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as file:
        async for chunk in session.files.archive(folder):
            file.write(chunk)


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except KeyboardInterrupt:
        sys.exit("Interrupted. To go on, start it again with the same folder.")

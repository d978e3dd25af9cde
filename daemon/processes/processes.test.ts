import { existsSync } from "node:fs";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OutboxEntry } from "@berth/contract/daemon-internal.ts";
import { OUTPUT_HEADERS, type Process, type StartProcess } from "@berth/contract/daemon/processes.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon[Symbol.asyncDispose]());

const beginSession = (sandboxId: string) =>
  daemon.fetch("/internal/start", { method: "POST", body: { env: {}, agent: null, autoStartAgent: false, sandboxId } });
beforeAll(() => beginSession("sbx_one"));

const post = (path: string, body: string | object = {}) => daemon.fetch<Process>(path, { method: "POST", body });
const start = async (body: StartProcess) => (await post("/processes", body)).json;
const get = async (id: string) => (await daemon.fetch<Process>(`/processes/${id}`)).json;
const wait = async (id: string) => (await post(`/processes/${id}/wait?timeoutMs=10000`)).json;
const output = (id: string, query = "") => daemon.fetch(`/processes/${id}/output${query}`);
const isAlive = (pid: number) => existsSync(join("/proc", String(pid)));

interface SentEvent {
  id: string;
  data: { type: string; stream?: string; data?: string; bytes?: number; process?: Process };
}

// Reads events until `isEnough`, and disconnects.
async function events(
  id: string,
  lastId?: string,
  isEnough: (event: SentEvent) => boolean = () => false,
  query = "",
): Promise<SentEvent[]> {
  const headers = lastId === undefined ? undefined : { "last-event-id": lastId };
  const response = await daemon.open(`/processes/${id}/events${query}`, { ...(headers && { headers }) });
  const seen: SentEvent[] = [];
  let text = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
    const parts = (text + chunk).split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts.filter((one) => !one.startsWith(":"))) {
      const [, eventId = "", data = "{}"] = /^id: (.*)\ndata: (.*)$/.exec(part) ?? [];
      seen.push({ id: eventId, data: JSON.parse(data) as SentEvent["data"] });
      if (isEnough(seen.at(-1)!)) return (response.destroy(), seen);
    }
  }
  return seen;
}

const textOf = (list: SentEvent[], stream?: string) =>
  list
    .filter(({ data }) => data.type === "output" && (stream === undefined || data.stream === stream))
    .map(({ data }) => data.data)
    .join("");

describe("a process", () => {
  test("is there at once, lives on without its caller, and keeps its output and its end", async () => {
    const started = await start({ command: "echo out; echo err >&2; exit 3", name: "build", env: { FRUIT: "fig" } });
    expect(started).toMatchObject({ name: "build", command: "echo out; echo err >&2; exit 3", pty: false, cwd: daemon.workspace });
    const ended = await wait(started.id);
    expect(ended).toMatchObject({ status: "exited", exitCode: 3, signal: null, outputBytes: 8, droppedBytes: 0, timedOut: false });
    expect(Date.parse(ended.endedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(started.startedAt));
    expect((await output(started.id, "?stream=stdout")).text).toBe("out\n");
    const { headers, text } = await output(started.id, "?stream=stderr&offset=1");
    expect([text, headers[OUTPUT_HEADERS.offset], headers[OUTPUT_HEADERS.next], headers[OUTPUT_HEADERS.dropped]]).toEqual([
      "rr\n",
      "1",
      "4",
      "0",
    ]);
    expect((await output(started.id)).text).toHaveLength(8);
  });

  test("takes input in pieces, and its end", async () => {
    const { id } = await start({ args: ["cat"], stdin: true });
    expect((await post(`/processes/${id}/stdin`, "one ")).status).toBe(204);
    await post(`/processes/${id}/stdin`, "two");
    await events(id, undefined, ({ data }) => data.data?.endsWith("two") ?? false);
    await post(`/processes/${id}/stdin/close`);
    expect(await wait(id)).toMatchObject({ exitCode: 0 });
    expect((await output(id)).text).toBe("one two");
    expect((await post(`/processes/${id}/stdin`, "late")).json).toMatchObject({ code: "process_ended" });
    // Without `stdin`, the input has ended from the start.
    expect(await wait((await start({ args: ["cat"] })).id)).toMatchObject({ exitCode: 0 });
    const deaf = await start({ args: ["sleep", "600"] });
    expect((await post(`/processes/${deaf.id}/stdin`, "lost")).json).toMatchObject({ code: "input_closed" });
    await daemon.fetch(`/processes/${deaf.id}`, { method: "DELETE" });
  });

  test("gets signals with everything it has started, and is killed at its timeout", async () => {
    const { id } = await start({ command: "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done" });
    await events(id, undefined, ({ data }) => data.data === "ready\n");
    expect((await post(`/processes/${id}/signal`, { signal: "SIGINT" })).status).toBe(204);
    expect(await wait(id)).toMatchObject({ exitCode: 7 });
    expect((await output(id)).text).toBe("ready\ncaught\n");
    expect((await post(`/processes/${id}/signal`, { signal: "SIGINT" })).status).toBe(409);
    const late = await start({ command: "sleep 600 & echo $!; wait", timeoutMs: 200 });
    expect(await wait(late.id)).toMatchObject({ status: "exited", exitCode: null, signal: "SIGKILL", timedOut: true });
    const child = Number((await output(late.id)).text);
    await expect.poll(() => isAlive(child)).toBe(false);
  });

  test("can have a pseudo-terminal of a size that changes", async () => {
    const { id } = await start({
      command: "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done",
      pty: { cols: 100, rows: 30 },
    });
    await events(id, undefined, ({ data }) => data.data?.includes("30 100") ?? false);
    await post(`/processes/${id}/resize`, { cols: 90, rows: 20 });
    await events(id, undefined, ({ data }) => data.data?.includes("20 90") ?? false);
    await post(`/processes/${id}/stdin`, "\x03");
    expect(await wait(id)).toMatchObject({ signal: "SIGINT", pty: true });
    const plain = await start({ command: "sleep 600" });
    expect((await post(`/processes/${plain.id}/resize`, { cols: 90, rows: 20 })).status).toBe(400);
    await daemon.fetch(`/processes/${plain.id}`, { method: "DELETE" });
  });

  test("is ended and forgotten by DELETE", async () => {
    const { id, pid } = await start({ command: "sleep 600" });
    expect((await daemon.fetch(`/processes/${id}`, { method: "DELETE" })).status).toBe(204);
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect((await daemon.fetch(`/processes/${id}`)).status).toBe(404);
  });

  test("waits no longer than asked", async () => {
    const { id } = await start({ command: "sleep 600" });
    expect((await post(`/processes/${id}/wait?timeoutMs=50`)).json).toMatchObject({ status: "running", endedAt: null });
    await daemon.fetch(`/processes/${id}`, { method: "DELETE" });
  });

  test.each([
    [{}, "command or args"],
    [{ command: "true", args: ["true"] }, "command or args"],
    [{ command: ["true"] }, "command"],
    [{ args: "true" }, "args"],
    [{ args: [] }, "command"],
    [{ command: "true", pty: { cols: 0, rows: 1 } }, "pty"],
    [{ command: "true", stdin: "text" }, "stdin"],
    [{ command: "true", name: "x".repeat(201) }, "name"],
    [{ command: "true", timeoutMs: 0 }, "timeoutMs"],
    [{ args: ["no-such-program"], env: { PATH: "/usr/bin:/bin" } }, "Command not found: no-such-program"],
  ])("refuses %j and names %s", async (body, named) => {
    const { status, json } = await daemon.fetch("/processes", { method: "POST", body });
    expect([status, json.error]).toEqual([400, expect.stringContaining(named)]);
  });
});

describe("a process that its caller follows at once", () => {
  test("is announced first, and is found by its number and its name while it runs", async () => {
    const headers = { accept: "text/event-stream" };
    const body = { args: ["sh", "-c", "pwd; read line; echo $line"], stdin: true, name: "tag", env: {} };
    const response = await daemon.open("/processes?base=home&encoding=base64", { method: "POST", body, headers });
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    const base64 = (line: string) => Buffer.from(`${line}\n`).toString("base64");
    await expect.poll(() => text).toContain(base64(daemon.home));
    const { type, process } = JSON.parse(/data: (.*)/.exec(text)?.[1] ?? "") as { type: string; process: Process };
    expect({ type, cwd: process.cwd }).toEqual({ type: "start", cwd: daemon.home });
    expect((await get(String(process.pid))).id).toBe(process.id);
    expect((await get("~tag")).id).toBe(process.id);
    await post(`/processes/${process.pid}/stdin`, "hello\n");
    await expect.poll(() => text).toContain('"type":"end"');
    expect(text).toContain(base64("hello"));
    for (const gone of [String(process.pid), "~tag"]) expect((await daemon.fetch(`/processes/${gone}`)).json.code).toBe("not_found");
  });
});

describe("the events of a process", () => {
  test("continue after any of them, without loss or repetition, also inside a character", async () => {
    // Each letter of "grüße" in two streams, with the bytes of characters apart.
    const { id } = await start({
      command:
        "printf 'gr\\303'; sleep 0.05; printf X >&2; sleep 0.05; printf '\\274\\303'; sleep 0.05; printf Y >&2; sleep 0.05; printf '\\237e'",
    });
    const all = await events(id);
    expect([textOf(all, "stdout"), textOf(all, "stderr")]).toEqual(["grüße", "XY"]);
    expect(all.at(-1)).toMatchObject({ id: "end", data: { type: "end", process: { id, exitCode: 0 } } });
    for (const [at, { id: lastId }] of all.slice(0, -1).entries()) {
      const rest = await events(id, lastId);
      expect(textOf(all.slice(0, at + 1), "stdout") + textOf(rest, "stdout")).toBe("grüße");
      expect(textOf(all.slice(0, at + 1), "stderr") + textOf(rest, "stderr")).toBe("XY");
    }
    const again = await daemon.fetch(`/processes/${id}/events`, { headers: { "last-event-id": "end" } });
    expect(again.status).toBe(204);
    const encoded = (await events(id, undefined, undefined, "?encoding=base64")).filter(({ data }) => data.type === "output");
    expect(Buffer.concat(encoded.map(({ data }) => Buffer.from(data.data ?? "", "base64"))).toString("latin1")).toHaveLength(9);
    expect((await daemon.fetch(`/processes/${id}/events`, { headers: { "last-event-id": "3.else" } })).status).toBe(400);
  });

  test("say how much was dropped, and a slow reader does not hold back the program", async () => {
    const { id } = await start({ command: "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last" });
    expect(await wait(id)).toMatchObject({ exitCode: 0, outputBytes: 5_000_006 });
    const { droppedBytes } = await get(id);
    expect(droppedBytes).toBeGreaterThan(3_900_000);
    const all = await events(id);
    expect(all[0]).toMatchObject({ data: { type: "dropped", bytes: droppedBytes } });
    expect(textOf(all)).toHaveLength(5_000_006 - droppedBytes);
    expect(textOf(all).endsWith("x\nlast\n")).toBe(true);
    const { headers } = await output(id, "?offset=5");
    expect([headers[OUTPUT_HEADERS.offset], headers[OUTPUT_HEADERS.dropped]]).toEqual([String(droppedBytes), String(droppedBytes)]);
  });
});

describe("for the server", () => {
  const outbox = async (query = "") => (await daemon.fetch<{ entries: OutboxEntry[]; open: number }>(`/internal/outbox${query}`)).json;
  const recorded = async () => {
    const { entries } = await outbox();
    await daemon.fetch("/internal/outbox", { method: "POST", body: { recorded: entries.map(({ id }) => id) } });
    return entries.length;
  };

  test("the end of each process stays in the outbox until it is recorded, over a restart of the daemon too", async () => {
    await recorded();
    const waiting = outbox("?waitMs=10000");
    const { id } = await start({ command: "exit 4", name: "job" });
    const { entries } = await waiting;
    expect(entries).toMatchObject([{ type: "process.exited", data: { id, name: "job", status: "exited", exitCode: 4 } }]);
    const running = await start({ command: "echo before; sleep 600" });
    await events(running.id, undefined, ({ data }) => data.data === "before\n");
    expect((await outbox()).open).toBe(1);
    await daemon.stop("SIGKILL");
    process.kill(-running.pid, "SIGKILL");
    await daemon.restart();
    await beginSession("sbx_one");
    expect(await get(running.id)).toMatchObject({ status: "lost", exitCode: null, signal: null });
    expect(await get(id)).toMatchObject({ status: "exited", exitCode: 4 });
    const after = (await outbox()).entries;
    expect(after.map((entry) => [entry.data.id, entry.data.status])).toEqual([
      [id, "exited"],
      [running.id, "lost"],
    ]);
    expect(after[0]).toEqual(entries[0]);
    expect((await events(running.id)).map(({ data }) => data.type)).toEqual(["end"]);
    await recorded();
    await daemon.stop("SIGKILL");
    // The user can write to this file.
    await appendFile(join(daemon.home, ".berth/work/outbox"), `{"id":"${"f".repeat(24)}","type":"process.exited"}\n`);
    await daemon.restart();
    await beginSession("sbx_one");
    expect(await recorded()).toBe(1);
    expect((await outbox()).entries).toEqual([]);
    expect(await get(id)).toMatchObject({ status: "exited", exitCode: 4 });
    expect(await get(running.id)).toMatchObject({ status: "lost" });
  });

  test("a process that a stop of the sandbox ends is lost, and a copy of the disk does not have it", async () => {
    const { id, pid } = await start({ command: "sleep 600" });
    await daemon.fetch("/internal/stop", { method: "POST" });
    expect(await get(id)).toMatchObject({ status: "lost" });
    await expect.poll(() => isAlive(pid)).toBe(false);
    await daemon.stop();
    const file = join(daemon.home, ".berth/work/outbox");
    await writeFile(file, `${await readFile(file, "utf8")}{"id": 5}\nhalf a li`);
    await daemon.restart();
    await beginSession("sbx_two");
    expect((await daemon.fetch<{ processes: Process[] }>("/processes")).json.processes).toEqual([]);
    expect((await outbox()).entries).toEqual([]);
  });

  test("many processes in a row, and many at once, leave nothing", async () => {
    const rows = Array.from({ length: 100 }, async (_, at) => await wait((await start({ command: `echo ${at}` })).id));
    expect(new Set((await Promise.all(rows)).map(({ exitCode }) => exitCode))).toEqual(new Set([0]));
    const { processes } = (await daemon.fetch<{ processes: Process[] }>("/processes")).json;
    expect(processes).toHaveLength(100);
    let ends = 0;
    for (let count = await recorded(); count > 0; count = await recorded()) ends += count;
    expect(ends).toBe(100);
  });
});

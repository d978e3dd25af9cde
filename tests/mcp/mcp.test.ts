import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Run } from "@berth/contract";
import { readScriptedAgent } from "../support/agents/scripted-agent.ts";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";
import { GENERATIONS, type McpClient } from "./clients.ts";

let berth: SharedBerth;
let sessionId: string;
let sandboxId: string;
beforeAll(async () => {
  berth = await shareBerth();
  ({ sessionId, sandboxId } = await berth.api.create());
});
afterAll(() => berth.api.call("DELETE", `/api/b2b/sessions/${sessionId}`));

const namesOf = async (client: McpClient) => (await client.tools()).map(({ name }) => name);
const issueToken = async (scopes: string[], more = {}) => {
  const { body } = await berth.api.call("POST", `/api/b2b/sessions/${sessionId}/tokens`, { scopes, ttlMs: 600_000, ...more });
  return (body as { token: string }).token;
};
const rpc = (method: string, params: object = {}, id = 1) => ({ jsonrpc: "2.0", id, method, params });
const post = (body: unknown, headers: Record<string, string> = {}) =>
  berth.api.call("POST", "/mcp", body, { accept: "application/json, text/event-stream", ...headers });

describe.each(Object.entries(GENERATIONS))("the %s client", (generation, connect) => {
  let client: McpClient;
  beforeAll(async () => {
    client = await connect(berth.url, berth.key);
  });
  afterAll(() => client[Symbol.asyncDispose]());
  const call = (name: string, args: object) => client.call(name, { sessionId, ...args });

  test("speaks its revision and finds the tools", async () => {
    expect(client.revision).toBe(generation === "new" ? "2026-07-28" : "2025-11-25");
    const tools = await client.tools();
    expect(tools.map(({ name }) => name)).toEqual([
      "session_create",
      "session_list",
      "session_get",
      "session_pause",
      "session_resume",
      "session_destroy",
      "session_fork",
      "exec",
      "process_start",
      "process_output",
      "process_stop",
      "read_file",
      "write_file",
      "patch_file",
      "list_files",
      "search_files",
      "preview_url",
      "run_start",
      "run_status",
      "run_answer",
      "run_interrupt",
    ]);
    expect(tools.find(({ name }) => name === "session_destroy")?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(tools.find(({ name }) => name === "read_file")).toMatchObject({
      inputSchema: { required: ["sessionId", "path"] },
      annotations: { readOnlyHint: true },
    });
    expect(JSON.stringify(tools)).not.toContain("$id");
  });

  test("runs commands, and gets a bounded result that is safe to print", async () => {
    expect(await call("exec", { command: "echo out; echo err >&2; exit 3" })).toMatchObject({
      isError: false,
      text: "exit code 3\nstdout:\nout\n\nstderr:\nerr\n",
      data: { exitCode: 3, stdout: "out\n", stderr: "err\n" },
    });
    const long = await call("exec", { command: "seq 1 100000" });
    expect(long.text.length).toBeLessThan(32_000);
    expect(long.text).toMatch(/^exit code 0\nstdout:\n1\n2\n[^]* characters left out\. To see all of it, write[^]*99999\n100000\n$/);
    const coloured = await call("exec", { command: String.raw`printf '\033[31mred\033[0m \007bell \033]0;title\007end'` });
    expect(coloured.data).toMatchObject({ stdout: "red \uFFFDbell end" });
    expect((await call("exec", { command: "sleep 60", timeoutMs: 200 })).text).toContain("killed after 200 ms");
  });

  test("writes, reads, lists, searches and patches files", async () => {
    const path = `${generation}/src/a.ts`;
    expect((await call("write_file", { path, content: "const a = 1;\nconst b = 1;\n" })).data).toMatchObject({ size: 26 });
    expect((await call("read_file", { path })).text).toBe("const a = 1;\nconst b = 1;\n");
    const patch = (oldText: string) => call("patch_file", { path, edits: [{ oldText, newText: "$& 2;" }] });
    expect((await patch("1;")).text).toContain("edits.0.oldText: Is in the file more than once");
    expect(await patch("b = 1;")).toMatchObject({ isError: false });
    expect((await call("read_file", { path })).text).toBe("const a = 1;\nconst $& 2;\n");
    expect((await call("list_files", { path: generation, depth: 2 })).text).toMatch(/src \(folder\)\n.*src\/a\.ts \(25 bytes\)$/);
    expect((await call("search_files", { query: "const A", include: `${generation}/**` })).text).toBe(`${path}:1: const a = 1;`);
    expect((await call("read_file", { path: "/etc/hostname" })).isError).toBe(false);
    expect(await call("read_file", { path: "../../etc/hostname" })).toMatchObject({
      isError: true,
      data: { error: { code: "path_outside" } },
    });
    expect((await call("read_file", { path: "nothing" })).text).toMatch(/^not_found: /);
  });

  test("reads a long file in parts that join to the whole", async () => {
    const whole = "äöü€ line\n".repeat(5000);
    await berth.api.writeFile(sandboxId, "long.txt", whole);
    let text = "";
    let offset: number | null = 0;
    while (offset !== null) {
      const part = await call("read_file", { path: "long.txt", offset });
      const data: { text: string; nextOffset: number | null } = part.data;
      if (data.nextOffset !== null) expect(part.text).toContain(`read on with offset ${data.nextOffset}`);
      text += data.text;
      offset = data.nextOffset;
    }
    expect(text === whole).toBe(true);
  });

  test("starts a process, follows its output with a cursor, and stops it", async () => {
    const started = await call("process_start", {
      command: `echo one; until [ -e go-${generation} ]; do sleep 0.05; done; echo two; exec sleep 100`,
    });
    const { processId } = started.data as { processId: string };
    const output = (more: object) => call("process_output", { processId, ...more });
    const first = await output({ waitMs: 10_000, cursor: 0 });
    expect(first.data).toMatchObject({ output: "one\n", status: "running", nextCursor: 4 });
    const second = output({ waitMs: 10_000, cursor: 4 });
    await berth.api.writeFile(sandboxId, `go-${generation}`, "");
    expect((await second).data).toMatchObject({ output: "two\n", offset: 4, nextCursor: 8 });
    expect((await output({})).data).toMatchObject({ output: "one\ntwo\n" });
    expect((await call("process_stop", { processId })).data).toMatchObject({ status: "exited", signal: "SIGTERM" });
  });

  test("ends a command when it cancels the call", async () => {
    const mark = `7${generation === "new" ? 1 : 2}.5`;
    const cancel = new AbortController();
    const calling = client.call("exec", { sessionId, command: `sleep ${mark}` }, { signal: cancel.signal });
    const isRunning = async () => (await berth.api.exec(sandboxId, ["pgrep", "-f", `sleep ${mark}`])).code === 0;
    await expect.poll(isRunning).toBe(true);
    cancel.abort();
    await expect(calling).rejects.toThrow(/abort/i);
    await expect.poll(isRunning).toBe(false);
  });

  test("gets Berth's errors as results", async () => {
    expect(await client.call("exec", { sessionId: "ses_none", command: "true" })).toMatchObject({
      isError: true,
      text: "session_not_found: Session not found",
      data: { error: { code: "session_not_found", retryable: false } },
    });
    expect((await client.call("exec", { command: 5 })).data).toMatchObject({
      error: {
        code: "validation_failed",
        details: [
          { field: "sessionId", message: "Required" },
          { field: "command", message: "Must be a string" },
        ],
      },
    });
    await expect(client.call("format_disk", {})).rejects.toThrow("There is no such tool");
  });

  test("with a session token, has only the tools of its scopes, for its session", async () => {
    await using files = await connect(berth.url, await issueToken(["files", "ports"], { ports: [3000] }));
    const tools = await files.tools();
    expect(tools.map(({ name }) => name)).toEqual([
      "session_get",
      "read_file",
      "write_file",
      "patch_file",
      "list_files",
      "search_files",
      "preview_url",
    ]);
    expect(tools[0]?.inputSchema.required ?? []).toEqual([]);
    expect((await files.call("session_get", {})).data).toMatchObject({ sessionId });
    expect((await files.call("list_files", {})).isError).toBe(false);
    expect((await files.call("exec", { command: "true" })).text).toMatch(/^insufficient_scope/);
    expect((await files.call("preview_url", { port: 3001 })).text).toMatch(/^insufficient_scope/);
    expect((await files.call("preview_url", { port: 3000 })).data).toMatchObject({ url: expect.stringContaining("3000-") as string });
    expect((await files.call("session_get", { sessionId: "ses_other" })).text).toMatch(/^session_not_found/);
  });
});

test("sessions are created once for a key, forked, paused, resumed and destroyed", async () => {
  await using client = await GENERATIONS.new(berth.url, berth.key);
  const create = () => client.call("session_create", { metadata: { from: "mcp" }, idempotencyKey: "one" });
  const { data: created } = (await create()) as { data: { sessionId: string } };
  expect((await create()).data).toEqual(created);
  const own = { sessionId: created.sessionId };
  await client.call("write_file", { ...own, path: "a.txt", content: "a" });
  const forked = (await client.call("session_fork", own)).data as { sessions: { session: { sessionId: string } }[] };
  const fork = { sessionId: forked.sessions[0]!.session.sessionId };
  expect((await client.call("read_file", { ...fork, path: "a.txt" })).text).toBe("a");
  const running = client.call("exec", { ...own, command: "touch begun; sleep 50" });
  await expect.poll(async () => (await client.call("list_files", own)).text).toContain("begun");
  expect((await client.call("session_pause", own)).data).toEqual({ status: "paused" });
  expect((await running).text).toMatch(/^session_paused: /);
  expect((await client.call("exec", { ...own, command: "true" })).text).toBe("session_paused: Session is paused; resume it first");
  expect((await client.call("session_resume", own)).data).toMatchObject({ status: "running" });
  for (const id of [own, fork]) expect((await client.call("session_destroy", id)).data).toEqual({ status: "destroyed" });
  const listed = (await client.call("session_list", { status: "destroyed" })).data as { data: { metadata: object }[] };
  expect(listed.data.map(({ metadata }) => metadata)).toContainEqual({ from: "mcp" });
});

test("a run is started, watched, answered and interrupted", async () => {
  const { sessionId: id, sandboxId: box } = await berth.api.create({ template: "scripted", autoStartAgent: false });
  await berth.api.writeFile(box, "agent.mjs", await readScriptedAgent());
  const { token } = (await berth.api.call("POST", `/api/b2b/sessions/${id}/tokens`, { scopes: ["runs"], ttlMs: 600_000 })).body as {
    token: string;
  };
  await using client = await GENERATIONS.new(berth.url, token);
  expect(await namesOf(client)).toEqual(["session_get", "run_start", "run_status", "run_answer", "run_interrupt"]);
  const start = async (prompt: string) => (await client.call("run_start", { prompt, idempotencyKey: prompt })).data as { runId: string };
  const status = async (run: object) => (await client.call("run_status", { ...run, waitMs: 50_000 })).data as Run;

  const asking = await start("/ask touch a.txt");
  expect(await start("/ask touch a.txt")).toEqual(asking);
  const waiting = await status(asking);
  expect(waiting).toMatchObject({ status: "needs_input", waitsFor: [{ kind: "permission" }] });
  const [question] = waiting.waitsFor as [Extract<Run["waitsFor"][number], { kind: "permission" }>];
  const optionId = question.options.find(({ kind }) => kind === "allow_once")!.id;
  expect((await client.call("run_answer", { ...asking, itemId: question.itemId, optionId })).isError).toBe(false);
  expect((await status(asking)).status).toBe("succeeded");

  const other = await start("/ask touch b.txt");
  expect((await status(other)).status).toBe("needs_input");
  expect((await client.call("run_interrupt", other)).isError).toBe(false);
  expect((await status(other)).status).toBe("interrupted");
  expect((await client.call("run_answer", { ...other, itemId: "x", optionId })).text).toMatch(/^run_ended/);
  await berth.api.call("DELETE", `/api/b2b/sessions/${id}`);
});

test("a key for reading has only the tools that read sessions", async () => {
  const { key } = (await berth.api.call("POST", "/api/b2b/keys", { scope: "read" })).body as { key: string };
  await using client = await GENERATIONS.new(berth.url, key);
  expect(await namesOf(client)).toEqual(["session_list", "session_get", "run_status"]);
  expect((await client.call("exec", { sessionId, command: "true" })).text).toMatch(/^insufficient_scope/);
});

test("strangers, other sites and batches are refused", async () => {
  await expect(GENERATIONS.new(berth.url, "berth_wrong")).rejects.toThrow(/unauthorized|401/i);
  const list = rpc("tools/list");
  expect((await post(list)).status).toBe(200);
  expect((await post(list, { authorization: "Bearer wrong" })).status).toBe(401);
  expect((await post(list, { origin: "https://evil.example" })).status).toBe(403);
  expect((await post(list, { origin: "null" })).status).toBe(403);
  expect((await post(list, { origin: berth.url })).status).toBe(200);
  expect((await post([list, list])).status).toBe(400);
  expect((await post({ ...list, padding: "x".repeat(1_100_000) })).status).toBe(413);
  expect((await berth.api.call("GET", "/mcp")).status).toBe(405);
});

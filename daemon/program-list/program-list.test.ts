import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentState, CLOSE } from "@berth/contract/daemon.ts";
import type { Process, StartProcess } from "@berth/contract/daemon/processes.ts";
import type { Program, ProgramList } from "@berth/contract/daemon/programs.ts";
import { ROLE_HEADER } from "@berth/contract/workspace/visitor.ts";
import { attachScreen, createTerminal } from "../testing/terminal-screen.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";
import { titleOf } from "./title.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon[Symbol.asyncDispose]());

const list = async () => (await daemon.fetch<ProgramList>("/programs")).json;
const find = async (id: string) => (await list()).programs.find((program) => program.id === id);
const start = async (body: StartProcess) => (await daemon.fetch<Process>("/processes", { method: "POST", body })).json;
const stop = (id: string, headers = {}) => daemon.fetch(`/programs/${id}/stop`, { method: "POST", headers });
const waitForEnd = async (id: string) =>
  (await daemon.fetch<Process>(`/processes/${id}/wait?timeoutMs=10000`, { method: "POST", body: {} })).json;
const isAlive = (pid: number) => existsSync(join("/proc", String(pid)));

// Listens on a port, prints it, and has memory and processor time that a test can see.
const SERVER = `const held = Buffer.alloc(64 * 1024 * 1024, 1);
const server = require("node:net").createServer().listen(0, "127.0.0.1", () => {
  console.log("port " + server.address().port);
  setInterval(() => { for (const until = Date.now() + 40; Date.now() < until && held.length > 0;); }, 60);
});`;
const node = process.execPath;

async function printed(id: string, pattern: RegExp): Promise<number> {
  let found: string | undefined;
  await expect.poll(async () => (found = pattern.exec((await daemon.fetch(`/processes/${id}/output`)).text)?.[1])).toBeDefined();
  return Number(found);
}

test("a process is listed with its processor time, memory and ports, of everything that it has started", async () => {
  const { id, pid } = await start({ command: `'${node}' -e '${SERVER}'; true`, name: "busy" });
  const port = await printed(id, /port (\d+)/);
  const first = await list();
  const before = first.programs.find((program) => program.id === id)!;
  expect(before).toMatchObject({ kind: "process", title: "busy", parentId: null, pid, ports: [port], end: null });
  expect(before.memoryBytes).toBeGreaterThan(64 * 1024 * 1024);
  expect(Math.abs(Date.parse(first.at) - Date.parse(before.startedAt))).toBeLessThan(60_000);
  let used = 0;
  await expect.poll(async () => (used = ((await find(id))?.cpuMs ?? 0) - (before.cpuMs ?? 0))).toBeGreaterThan(100);
  expect(used).toBeLessThan(60_000);

  expect((await stop(id)).status).toBe(202);
  expect(await waitForEnd(id)).toMatchObject({ status: "exited", signal: "SIGTERM" });
  const ended = (await find(id))!;
  expect(ended).toMatchObject({ kind: "process", title: "busy", cpuMs: null, memoryBytes: null, ports: [] });
  expect(ended.end).toMatchObject({ status: "exited", exitCode: null, signal: "SIGTERM", timedOut: false });
  expect((await stop(id)).status).toBe(404);
});

test("a stop ends the group, also what ignores SIGTERM after its leader has ended", async () => {
  const stubborn = "trap '' TERM; echo child $$; while :; do sleep 0.05; done";
  const { id } = await start({ command: `sh -c "${stubborn.replaceAll("$", "\\$")}" & sleep 100` });
  const child = await printed(id, /child (\d+)/);
  await stop(id);
  await expect.poll(() => isAlive(child)).toBe(false);
  expect(await waitForEnd(id)).toMatchObject({ status: "exited", signal: "SIGTERM" });
});

test("a terminal and a server that runs in it are two programs, and each of them can be stopped", async () => {
  const terminal = await createTerminal(daemon);
  const screen = await attachScreen(daemon, terminal.id);
  screen.type(`'${node}' -e '${SERVER.replaceAll("\n", " ")}'\n`);
  let server: Program | undefined;
  await expect.poll(async () => (server = (await list()).programs.find(({ parentId }) => parentId === terminal.id))).toBeDefined();
  expect(server).toMatchObject({ kind: "listener", title: expect.stringContaining("node -e const held"), ports: [expect.any(Number)] });
  expect((await daemon.fetch("/ports")).json.ports).toContainEqual({ port: server!.ports[0], program: "node" });
  expect(server!.memoryBytes).toBeGreaterThan(64 * 1024 * 1024);
  expect(await find(terminal.id)).toMatchObject({ kind: "terminal", title: terminal.title, ports: [] });
  expect((await find(terminal.id))!.memoryBytes).toBeLessThan(64 * 1024 * 1024);

  expect((await stop(server!.id, { [ROLE_HEADER]: "viewer" })).status).toBe(403);
  await stop(server!.id);
  await expect.poll(() => find(server!.id)).toBeUndefined();
  expect(await find(terminal.id)).toBeDefined();
  await stop(terminal.id);
  await expect.poll(() => find(terminal.id)).toBeUndefined();
  // The terminal stays, with its output.
  expect((await daemon.fetch("/terminals")).json.terminals).toMatchObject([{ id: terminal.id, exit: { signal: "SIGHUP" } }]);
  await screen.close();
});

test("a command of exec is listed while it runs, and can be stopped", async () => {
  const response = await daemon.open("/exec", { method: "POST", body: { command: "sleep 100" } });
  const command = (await list()).programs.find(({ kind }) => kind === "command")!;
  expect(command.title).toBe("/bin/sh -c sleep 100");
  await stop(command.id);
  let text = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
  expect(JSON.parse(text)).toEqual({ type: "exit", code: null, signal: "SIGTERM" });
});

test("the agent and a language server are listed, and do not start again by themselves after a stop", async () => {
  const agent = { command: "/bin/sh", args: ["-c", "sleep 100"], env: {}, requiredEnv: [] };
  await daemon.fetch("/internal/start", { method: "POST", body: { env: {}, agent, autoStartAgent: true } });
  const server = join(daemon.workspace, "node_modules/.bin/typescript-language-server");
  mkdirSync(dirname(server), { recursive: true });
  writeFileSync(server, "#!/bin/sh\nsleep 100\n", { mode: 0o755 });
  const socket = daemon.connect("/languages/typescript");
  await once(socket, "message");
  const kinds = async () => (await list()).programs.filter(({ kind }) => kind === "agent" || kind === "language");
  await expect.poll(async () => (await kinds()).map(({ kind }) => kind)).toEqual(["agent", "language"]);
  const closed = once(socket, "close");
  for (const { id } of await kinds()) expect((await stop(id)).status).toBe(202);
  // The browser connects again when a person uses the language.
  expect((await closed)[0]).toBe(CLOSE.languageServerIdle);
  await expect.poll(kinds).toEqual([]);
  expect((await daemon.fetch<AgentState>("/agent")).json.status).toBe("stopped");
});

test("names and command lines of any length and content become one line", async () => {
  const hostile = "\u001b]0;title\u0007\r\n<b>\u202egnp.exe\u2028\0";
  expect(titleOf(hostile)).toBe("]0;title <b> gnp.exe");
  expect(titleOf(["a\nb", "", "  c "])).toBe("a b c");
  expect(titleOf("x".repeat(300))).toBe(`${"x".repeat(199)}…`);
  expect(titleOf("😀".repeat(200))).toHaveLength(200);

  // A megabyte of arguments, and a program that gives itself a name and a command line.
  const args = [node, "-e", `process.title = ${JSON.stringify(hostile)}; ${SERVER}`, ...Array<string>(16).fill("y".repeat(64 * 1024))];
  const { id } = await start({ args });
  await printed(id, /port (\d+)/);
  const { text, json } = await daemon.fetch<ProgramList>("/programs");
  expect(text.length).toBeLessThan(64 * 1024);
  const shown = json.programs.find((program) => program.id === id)!;
  expect(shown.title).toMatch(/^\S+node -e process\.title = .{0,190}…$/);
  expect(shown.ports).toHaveLength(1);

  // The same in a group of its own, where the kernel's copy of the command line is the only one.
  const { id: shell } = await start({ command: `setsid '${node}' -e '/*\u001b[2J\r\n*/ ${SERVER}' ${"z".repeat(100_000)} & wait` });
  await printed(shell, /port (\d+)/);
  const listener = (await list()).programs.find(({ parentId }) => parentId === shell)!;
  expect(listener).toMatchObject({ kind: "listener", title: expect.stringMatching(/node -e \/\* \[2J \*\/ const held = .{0,190}…$/) });
  for (const each of [id, listener.id]) await stop(each);
  await waitForEnd(id);
  await waitForEnd(shell);
});

test("the list has neither the daemon nor programs of others", async () => {
  const pids = (await list()).programs.filter(({ end }) => !end).map(({ pid }) => pid);
  expect(pids).not.toContain(daemon.pid);
  expect(pids).not.toContain(process.pid);
});

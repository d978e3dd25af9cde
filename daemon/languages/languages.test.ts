import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { CLOSE } from "@berth/contract/daemon.ts";
import type { LanguageServer } from "@berth/contract/daemon/languages.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon[Symbol.asyncDispose]());

interface Message {
  id?: string;
  result?: unknown;
}

function write(path: string, text: string): void {
  const file = join(daemon.workspace, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function installServer(name: string, script: string): void {
  write(`node_modules/.bin/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(join(daemon.workspace, `node_modules/.bin/${name}`), 0o755);
}

async function open(language: string, { connect } = daemon): Promise<{ socket: WebSocket; server: LanguageServer }> {
  const socket = connect(`/languages/${language}`);
  const [data] = (await once(socket, "message")) as [Buffer];
  return { socket, server: JSON.parse(String(data)) as LanguageServer };
}

const closeCode = async (socket: WebSocket) => ((await once(socket, "close")) as [number])[0];

function request(socket: WebSocket, method: string, params: object): Promise<unknown> {
  const answer = Promise.withResolvers<unknown>();
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(data.toString()) as Message;
    if (message.id === method && "result" in message) answer.resolve(message.result);
    // The server waits until its own requests are answered.
    else if (message.id !== undefined) socket.send(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: null }));
  });
  socket.on("close", (code) => answer.reject(new Error(`closed with ${code}`)));
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: method, method, params }));
  return answer.promise;
}

// The processes that the daemon has started.
const children = () =>
  readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(daemon.pid);
    } catch {
      return false;
    }
  }).length;

test.each([
  ["typescript", "TypeScript", "a.ts", "const n: number = 'text';\n"],
  ["python", "Pyright", "a.py", "n: int = 'text'\n"],
])("the server for %s comes with the daemon, and ends with its connection", async (language, name, path, text) => {
  const { socket, server } = await open(language);
  expect(server).toMatchObject({ name, rootUri: `file://${daemon.workspace}` });
  const capabilities = { workspace: { configuration: false }, textDocument: { diagnostic: {} } };
  await request(socket, "initialize", { processId: null, rootUri: server.rootUri, capabilities });
  socket.send(JSON.stringify({ jsonrpc: "2.0", method: "initialized", params: {} }));
  const uri = `${server.rootUri}/${path}`;
  const textDocument = { uri, languageId: language, version: 0, text };
  socket.send(JSON.stringify({ jsonrpc: "2.0", method: "textDocument/didOpen", params: { textDocument } }));
  const answer = (await request(socket, "textDocument/diagnostic", { textDocument: { uri } })) as { items: { message: string }[] };
  expect(answer.items[0]?.message).toContain("is not assignable");
  socket.close();
  await expect.poll(children).toBe(0);
});

test("a language without an installed server is refused", async () => {
  for (const language of ["haskell", "no-such-language", "constructor"])
    expect(await closeCode(daemon.connect(`/languages/${language}`))).toBe(CLOSE.noLanguageServer);
});

test("a server in the workspace's packages is found, and the template's server takes precedence", async () => {
  installServer("yaml-language-server", "exec sleep 600");
  const first = await open("yaml");
  expect(first.server.name).toBe("yaml-language-server");
  first.socket.close();
  const named = { command: "sleep", args: ["600"], settings: { yaml: { validate: false } } };
  const body = { env: {}, agent: null, autoStartAgent: false, languageServers: { yaml: named } };
  expect((await daemon.fetch("/internal/start", { method: "POST", body })).status).toBe(200);
  const second = await open("yaml");
  expect(second.server).toMatchObject({ name: "sleep", settings: { yaml: { validate: false } } });
  second.socket.close();
  await expect.poll(children).toBe(0);
});

test.each([
  ["ends", "exit 3"],
  ["sends something else", "echo 'This is not the protocol, and it is longer than any header: '; head -c 9000 /dev/zero; sleep 600"],
  ["announces a huge message", "printf 'Content-Length: 999999999\\r\\n\\r\\n'; sleep 600"],
])("a server that %s is closed", async (_what, script) => {
  installServer("bash-language-server", script);
  expect(await closeCode((await open("bash")).socket)).toBe(CLOSE.languageServerFailed);
  await expect.poll(children).toBe(0);
});

test("there are at most eight servers", async () => {
  installServer("gopls", "exec sleep 600");
  const opened = await Promise.all(Array.from({ length: 8 }, () => open("go")));
  expect(await closeCode(daemon.connect("/languages/go"))).toBe(1013);
  for (const { socket } of opened) socket.close();
  await expect.poll(children).toBe(0);
});

test("a server that is not used ends", async () => {
  await using impatient = await startTestDaemon({ BERTH_LANGUAGE_IDLE_MS: "100" });
  expect(await closeCode((await open("typescript", impatient)).socket)).toBe(CLOSE.languageServerIdle);
  await expect.poll(children).toBe(0);
});

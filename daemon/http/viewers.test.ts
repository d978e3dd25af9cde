import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROLE_HEADER, VIEWER_CALLS } from "@berth/contract/workspace/visitor.ts";
import { openDaemon } from "../daemon.ts";
import { attachScreen, createTerminal } from "../testing/terminal-screen.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

const viewer = { [ROLE_HEADER]: "viewer" };

test("a viewer is refused every call of the API that is not listed, and only those", async () => {
  await using daemon = await startTestDaemon();
  const calls = await allCalls();
  expect(calls.length).toBeGreaterThan(50);
  const refused: string[] = [];
  for (const [method, path] of calls) if (await isRefused(daemon, method, path)) refused.push(`${method} ${path}`);
  const allowed = new Set(VIEWER_CALLS.map(([method, path]) => `${method} ${path}`));
  const named = calls.map(([method, path]) => `${method} ${path}`);
  expect(refused).toEqual(named.filter((call) => !allowed.has(call)));
  // Every entry of the list is a call that exists.
  expect([...allowed].filter((call) => !named.includes(call))).toEqual([]);
});

test("a role that the daemon does not know has the rights of a viewer", async () => {
  await using daemon = await startTestDaemon();
  const response = await daemon.fetch("/exec", { method: "POST", body: { command: "true" }, headers: { [ROLE_HEADER]: "commenter" } });
  expect([response.status, response.json.code]).toEqual([403, "view_only"]);
});

test("a viewer sees a terminal's output, and neither types nor resizes nor clears it", async () => {
  await using daemon = await startTestDaemon();
  const { id } = await createTerminal(daemon);
  const editor = await attachScreen(daemon, id);
  const watching = await attachScreen(daemon, id, undefined, viewer);
  watching.type("echo ty''ped\n");
  watching.socket.send(JSON.stringify({ type: "resize", cols: 20, rows: 5 }));
  watching.socket.send(JSON.stringify({ type: "clear" }));
  // The daemon has read all of that when it answers this ping.
  watching.socket.ping();
  await once(watching.socket, "pong");
  editor.type("stty size; echo do''ne\n");
  await watching.shows("done");
  expect(watching.text()).toContain("24 80");
  expect(editor.text()).not.toContain("ped");
  expect(editor.messages.filter(({ type }) => type === "resized" || type === "cleared")).toEqual([]);
  await editor.close();
  await watching.close();
});

test("a viewer reads the agent's conversations and gives it no commands", async () => {
  await using daemon = await startTestDaemon();
  const socket = daemon.connect("/agent/stream", viewer);
  const refusals: unknown[] = [];
  socket.on("message", (data: Buffer) => refusals.push((JSON.parse(String(data)) as { code?: string }).code));
  const opened = once(socket, "open");
  const [answer] = (await once(socket, "upgrade")) as [{ headers: Record<string, string> }];
  expect(answer.headers[ROLE_HEADER]).toBe("viewer");
  await opened;
  for (const type of ["prompt", "prepare", "create", "delete", "answer", "restore", "review", "mode", "model", "queue", "cancel"])
    socket.send(JSON.stringify({ type, requestId: "r", conversationId: "c" }));
  // The first message is the greeting.
  await expect.poll(() => refusals).toHaveLength(12);
  expect(new Set(refusals.slice(1))).toEqual(new Set(["view_only"]));
  socket.close();
  await once(socket, "close");
});

// The table of routes, from a daemon that serves nothing.
async function allCalls() {
  const folder = mkdtempSync(join(tmpdir(), "berth-calls-"));
  const env = { BERTH_TOKEN_HASH: "0".repeat(64), BERTH_WORKSPACE: join(folder, "workspace"), BERTH_HOME: join(folder, "home") };
  const server = { on: () => server } as unknown as Parameters<typeof openDaemon>[1];
  const daemon = openDaemon(env, server);
  daemon.stop();
  rmSync(folder, { recursive: true, force: true });
  return daemon.calls;
}

async function isRefused(daemon: TestDaemon, method: string, route: string): Promise<boolean> {
  writeFileSync(join(daemon.workspace, "a.txt"), "text");
  const path = `${route.replace(":port", "9").replaceAll(/:\w+/g, "x").replace("/*", "/")}?path=a.txt`;
  if (method !== "WS") {
    const reply = await daemon.fetch(path, { method: method === "*" ? "GET" : method, headers: viewer });
    return reply.status === 403 && reply.headers["x-error-code"] === "view_only";
  }
  const socket = daemon.connect(path, viewer);
  const answer = await Promise.race([
    once(socket, "upgrade").then(() => "accepted"),
    once(socket, "unexpected-response").then(([, response]) => String((response as { statusCode: number }).statusCode)),
  ]);
  socket.on("error", () => {});
  socket.terminate();
  return answer === "403";
}

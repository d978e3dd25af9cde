import { once } from "node:events";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ListeningPort, SandboxEvent, Terminal } from "@berth/contract/daemon.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon[Symbol.asyncDispose]());

async function listen() {
  const socket = daemon.connect("/events");
  const events: SandboxEvent[] = [];
  socket.on("message", (data: Buffer) => events.push(JSON.parse(data.toString())));
  await once(socket, "message");
  const paths = () => events.flatMap((event) => (event.type === "files" ? event.changes.map(({ path, kind }) => `${kind} ${path}`) : []));
  return {
    events,
    sees: async (change: string) => await expect.poll(paths).toContain(change),
    paths,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, "close");
    },
  };
}

const at = (...parts: string[]) => join(daemon.workspace, ...parts);

describe("events", () => {
  test("start with the complete state", async () => {
    await using listener = await listen();
    expect(listener.events[0]).toMatchObject({ type: "hello", terminals: [], agent: { status: "none" } });
  });

  test("report files that are created, changed, moved and deleted, in existing and new folders", async () => {
    mkdirSync(at("old"), { recursive: true });
    writeFileSync(at("old/file"), "1");
    await using listener = await listen();
    await expect.poll(() => (writeFileSync(at("old/file"), "2"), listener.paths())).toContain("changed old/file");
    mkdirSync(at("new/deep/er"), { recursive: true });
    writeFileSync(at("new/deep/er/first"), "x");
    await listener.sees("changed new/deep/er/first");
    writeFileSync(at("new/deep/er/second"), "x");
    await listener.sees("changed new/deep/er/second");
    renameSync(at("new/deep"), at("moved"));
    await listener.sees("deleted new/deep");
    await listener.sees("changed moved");
    writeFileSync(at("moved/er/third"), "x");
    await listener.sees("changed moved/er/third");
    rmSync(at("moved"), { recursive: true });
    await listener.sees("deleted moved");
  });

  test("omit temporary files and the contents of node_modules until a browser shows them", async () => {
    mkdirSync(at("node_modules/pkg/lib"), { recursive: true });
    await using listener = await listen();
    await daemon.fetch("/files/content?path=saved.txt", { method: "PUT", body: "x" });
    await listener.sees("changed saved.txt");
    writeFileSync(at("node_modules/pkg/lib/inner"), "x");
    mkdirSync(at("node_modules/other"));
    await listener.sees("changed node_modules/other");
    expect(listener.paths().filter((path) => path.includes("berth-write") || path.includes("inner"))).toEqual([]);
    // A folder that a browser shows is watched.
    await daemon.fetch("/files?path=node_modules/pkg/lib");
    writeFileSync(at("node_modules/pkg/lib/inner"), "y");
    await listener.sees("changed node_modules/pkg/lib/inner");
  });

  test("a change right after the first message is reported, however many folders there are to watch", async () => {
    for (let i = 0; i < 300; i++) mkdirSync(at(`wide/${i}/deep`), { recursive: true });
    await using listener = await listen();
    writeFileSync(at("wide/299/deep/early"), "x");
    const isReported = () =>
      listener.paths().includes("changed wide/299/deep/early") || listener.events.some((event) => event.type === "files" && event.overflow);
    await expect.poll(isReported).toBe(true);
    rmSync(at("wide"), { recursive: true });
  });

  test("set `overflow` when there are too many changes to name", async () => {
    await using listener = await listen();
    // The daemon learns of all of them at once.
    process.kill(daemon.pid, "SIGSTOP");
    for (let i = 0; i < 600; i++) writeFileSync(join(daemon.workspace, `many-${i}`), "");
    process.kill(daemon.pid, "SIGCONT");
    await expect
      .poll(() => listener.events.some((event) => event.type === "files" && event.overflow && event.changes.length > 0))
      .toBe(true);
  });

  test("report terminals and ports as they open and close", async () => {
    await using listener = await listen();
    const script = `const s=require("net").createServer().listen(0,"127.0.0.1",()=>console.log(s.address().port));setTimeout(()=>{},60000)`;
    const running = await daemon.open("/exec", { method: "POST", body: { command: [process.execPath, "-e", script] } });
    const line = (await running.iterator({ destroyOnReturn: false }).next()).value.toString();
    const port = Number(JSON.parse(line.split("\n")[0]).data);
    const portsSeen = () => listener.events.findLast((event) => event.type === "ports")?.ports ?? [];
    await expect.poll(portsSeen).toContainEqual({ port, program: expect.any(String) });
    running.destroy();
    await expect.poll(() => portsSeen().some((open: ListeningPort) => open.port === port)).toBe(false);

    const { id } = (await daemon.fetch<Terminal>("/terminals", { method: "POST", body: { command: ["/bin/true"] } })).json;
    const exits = () =>
      listener.events
        .flatMap((event) => (event.type === "terminals" ? event.terminals : []))
        .filter((terminal) => terminal.id === id && terminal.exit);
    await expect.poll(exits).not.toEqual([]);
  });
});

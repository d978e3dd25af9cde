import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createConnection, createServer } from "node:net";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listen } from "./listen.ts";

test("this version of Node still has the private method that listens without loading node:cluster", () => {
  expect((createServer() as unknown as { _listen2: unknown })._listen2).toBeTypeOf("function");
  expect(
    modulesLoadedBy(`const { listen } = await import(${JSON.stringify(join(import.meta.dirname, "listen.ts"))});
    listen(server, { host: "127.0.0.1", port: 0 });`),
  ).toEqual({ listening: true, cluster: false });
});

test("the public method loads node:cluster, which is why the private one is used", () => {
  expect(modulesLoadedBy(`server.listen({ host: "127.0.0.1", port: 0 });`)).toEqual({ listening: true, cluster: true });
});

test.each([
  ["a Unix socket", (folder: string) => ({ path: join(folder, "test.sock") })],
  ["a port on loopback", () => ({ host: "127.0.0.1" as const, port: 0 })],
])("accepts connections on %s", async (_name, addressIn) => {
  const folder = mkdtempSync(join(tmpdir(), "berth-listen-"));
  const server = createServer((socket) => socket.end("hello"));
  try {
    const address = addressIn(folder);
    listen(server, address);
    await once(server, "listening");
    const socket = createConnection("path" in address ? address : { port: (server.address() as AddressInfo).port });
    expect(String(await once(socket, "data"))).toBe("hello");
    await once(socket, "close");
  } finally {
    server.close();
    await once(server, "close");
    rmSync(folder, { recursive: true, force: true });
  }
});

// Runs in a process of its own, because the test runner has loaded node:cluster already.
function modulesLoadedBy(statement: string): { listening: boolean; cluster: boolean } {
  const script = `
    const server = (await import("node:net")).createServer();
    ${statement}
    if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
    const cluster = process.moduleLoadList.includes("NativeModule cluster");
    console.log(JSON.stringify({ listening: server.listening, cluster }));
    server.close();`;
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" })) as never;
}

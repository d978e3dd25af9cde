import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon } from "../testing/test-daemon.ts";

let folder: string;
const outside = createServer((socket) =>
  socket.once("data", (chunk) => socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${chunk.toString().split("\r\n")[0]}`)),
);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-egress-"));
  outside.listen(join(folder, "proxy.sock"));
  await once(outside, "listening");
});
afterAll(async () => {
  outside.close();
  await once(outside, "close");
  rmSync(folder, { recursive: true, force: true });
});

describe("the egress forwarder", () => {
  test("offers a proxy on loopback to each of several sandboxes that share a network", async () => {
    const target = { BERTH_EGRESS: join(folder, "proxy.sock") };
    await using one = await startTestDaemon(target);
    await using other = await startTestDaemon(target);
    const proxies = new Set<string>();
    for (const daemon of [one, other]) {
      const modelUrl = "http://127.0.0.1:3128/model/openai/v1";
      await daemon.fetch("/internal/start", {
        method: "POST",
        body: { env: { OPENAI_BASE_URL: modelUrl, OTHER: "x" }, agent: null, autoStartAgent: false },
      });
      const run = async (command: string) => (await daemon.fetch("/exec?format=text", { method: "POST", body: { command } })).text;
      const proxy = (await run("printf %s $HTTPS_PROXY")).trim();
      proxies.add(proxy);
      expect(await run("curl -s http://example.test/path")).toBe("GET http://example.test/path HTTP/1.1");
      // URLs below the usual port are rewritten to the actual port.
      expect(await run("printf %s $OPENAI_BASE_URL")).toBe(`${proxy}/model/openai/v1`);
      expect(await run("curl -s $OPENAI_BASE_URL/models")).toBe("GET /model/openai/v1/models HTTP/1.1");
      expect((await daemon.fetch("/ports")).json.ports).toEqual([]);
      expect((await daemon.fetch(`/ports/${new URL(proxy).port}/`)).status).toBe(403);
    }
    expect(proxies.size).toBe(2);
  });

  test("sets no proxy variable when the sandbox has no egress", async () => {
    await using daemon = await startTestDaemon();
    const { text } = await daemon.fetch("/exec?format=text", { method: "POST", body: { command: "env" } });
    expect(text).not.toMatch(/proxy/i);
  });
});

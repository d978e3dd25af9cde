import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createLinkedDaemon, SANDBOX } from "../../daemon-link/testing/linked-daemon.ts";
import { relayHttp } from "./http-relay.ts";

const WAIT_MS = 300;

const answers = [
  ["has come whole", 4],
  ["comes in parts", 1024 ** 2],
] as const;

test.each(answers)("an answer that %s ends when the sandbox's limit of output allows it", async (_what, size) => {
  await using daemon = createLinkedDaemon();
  await daemon.serveHttp((_request, response) => response.end("x".repeat(size)));
  const links = daemon.openLinks();
  let counted = 0;
  const count = (_holder: string, bytes: number) => ((counted += bytes) === size ? WAIT_MS : 0);
  await using server = createServer((request, response) => {
    void relayHttp(
      { links, outputLimit: { count } },
      { request, response, sandboxId: SANDBOX, path: "/", headers: {}, responseHeaders: () => ({}) },
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const startedMs = performance.now();
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { headers: { connection: "close" } });
  expect(await response.text()).toHaveLength(size);
  expect(performance.now() - startedMs).toBeGreaterThan(WAIT_MS - 5);
});

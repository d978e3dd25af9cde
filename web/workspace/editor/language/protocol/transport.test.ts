import { expect, test } from "vitest";
import { createTransport } from "./transport.ts";

function createTestTransport() {
  const sent: unknown[] = [];
  const received: unknown[] = [];
  const transport = createTransport({
    send: (text) => sent.push(JSON.parse(text)),
    workspaceFolders: [{ uri: "file:///workspace", name: "workspace" }],
    answer: (method) => (method === "workspace/configuration" ? [1] : undefined),
  });
  transport.subscribe((text) => received.push(JSON.parse(text)));
  const request = (id: number, method: string) => transport.send(JSON.stringify({ jsonrpc: "2.0", id, method, params: {} }));
  const receive = (message: object) => transport.receive(JSON.stringify(message));
  return { transport, sent, received, request, receive };
}

test("requests of the server are answered and do not reach the library", async () => {
  const { sent, received, receive } = createTestTransport();
  receive({ id: "a", method: "workspace/configuration", params: {} });
  receive({ id: "b", method: "client/registerCapability", params: {} });
  await expect
    .poll(() => sent)
    .toEqual([
      { jsonrpc: "2.0", id: "a", result: [1] },
      { jsonrpc: "2.0", id: "b", result: null },
    ]);
  expect(received).toEqual([]);
});

test("a failed request that the editor made by itself has an empty result; others fail", () => {
  const { received, request, receive } = createTestTransport();
  request(1, "textDocument/hover");
  request(2, "textDocument/rename");
  receive({ id: 1, error: { code: -32801, message: "content modified" } });
  receive({ id: 2, error: { code: -32602, message: "no" } });
  expect(received).toEqual([
    { jsonrpc: "2.0", id: 1, result: null },
    { id: 2, error: { code: -32602, message: "no" } },
  ]);
});

test("when the connection is lost, every open request gets an empty result, once", () => {
  const { transport, received, request, receive } = createTestTransport();
  request(1, "textDocument/definition");
  transport.lost();
  receive({ id: 1, result: "late" });
  expect(received).toEqual([{ jsonrpc: "2.0", id: 1, result: null }]);
});

test("initialize names the workspace folder", () => {
  const { sent, request } = createTestTransport();
  request(1, "initialize");
  expect(sent[0]).toMatchObject({ params: { workspaceFolders: [{ uri: "file:///workspace" }] } });
});

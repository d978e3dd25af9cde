import { expect, test } from "vitest";
import { MINUTE } from "../clock.ts";
import { openGateway, type TestGateway } from "./testing/test-gateway.ts";
import type { SendOptions } from "./testing/test-requests.ts";

async function signedIn(gateway: TestGateway) {
  const cookie = await gateway.signIn();
  const headers = { cookie, origin: gateway.origin };
  const path = `/workspace/${gateway.sandboxId}/settings`;
  return {
    send: (options: SendOptions = {}) => gateway.send(path, { ...options, headers: { ...headers, ...options.headers } }),
    put: (body: unknown) => gateway.send(path, { method: "PUT", headers, body: JSON.stringify(body) }),
    path,
  };
}

test("a page reads and writes the settings of its user, and a stale version is refused", async () => {
  await using gateway = await openGateway();
  const { send, put } = await signedIn(gateway);
  expect(JSON.parse((await send()).body)).toEqual({ settings: {}, version: 0 });
  expect(JSON.parse((await put({ settings: { "editor.fontSize": 15 }, version: 0 })).body)).toEqual({ version: 1 });
  expect((await put({ settings: {}, version: 0 })).status).toBe(412);
  expect(JSON.parse((await send()).body)).toEqual({ settings: { "editor.fontSize": 15 }, version: 1 });
});

test("settings belong to the session's partner and user, and a paused session can read them", async () => {
  await using gateway = await openGateway();
  const { send, put } = await signedIn(gateway);
  await put({ settings: { mine: true }, version: 0 });
  gateway.setStatus("paused");
  expect((await send()).status).toBe(200);
  gateway.session.externalUserId = "another";
  gateway.setStatus("running");
  expect(JSON.parse((await send()).body)).toEqual({ settings: {}, version: 0 });
});

test("settings need the cookie and the page's origin", async () => {
  await using gateway = await openGateway();
  const { send, path } = await signedIn(gateway);
  expect((await gateway.send(path)).status).toBe(401);
  expect((await send({ method: "PUT", headers: { origin: "https://evil.example" }, body: "{}" })).status).toBe(403);
  expect((await send({ method: "DELETE" })).headers["allow"]).toBe("GET, PUT");
});

test("large, malformed and too many writes are refused", async () => {
  await using gateway = await openGateway();
  const { send, put } = await signedIn(gateway);
  expect((await put({ settings: { text: "x".repeat(33_000) }, version: 0 })).status).toBe(413);
  for (const body of ["no json", "[]", '{"settings":[],"version":0}', '{"settings":{},"version":-1}'])
    expect((await send({ method: "PUT", body })).status).toBe(400);
  for (let version = 0; version < 60; version++) expect((await put({ settings: {}, version })).status).toBe(200);
  expect((await put({ settings: {}, version: 60 })).status).toBe(429);
  await gateway.clock.advance(MINUTE);
  expect((await put({ settings: {}, version: 60 })).status).toBe(200);
});

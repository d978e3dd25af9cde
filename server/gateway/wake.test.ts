import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { AppError } from "@berth/contract";
import { CLOSE } from "@berth/contract/daemon.ts";
import { openGateway, type TestGateway } from "./testing/test-gateway.ts";
import { cookieFor, hostOf, linkTo, sendToPreview } from "./testing/test-preview.ts";

// A paused session with autoResume, and how often it was woken.
async function openPaused(failure?: AppError) {
  const woken = { count: 0 };
  const gateway = await openGateway({
    async wake() {
      woken.count++;
      if (failure) throw failure;
    },
  });
  await gateway.serveDaemon((_request, response) => response.end("from the sandbox"));
  gateway.session.autoResume = true;
  const pause = () => {
    woken.count = 0;
    gateway.setStatus("paused");
  };
  return Object.assign(gateway, { woken, pause });
}

const path = (gateway: TestGateway, rest: string) => `/workspace/${gateway.sandboxId}/${rest}`;
const urlOf = ({ pathname, search }: URL) => pathname + search;
const key = { "x-api-key": "good" };
const full = () => new AppError("capacity_reached");

describe("a paused session with autoResume", () => {
  test("is resumed by its launch URL, but not by one that is forged, expired, preloaded or of a destroyed session", async () => {
    await using gateway = await openPaused();
    gateway.pause();
    const url = gateway.launchUrl();
    const forged = new URL(url);
    forged.searchParams.set("sig", "A".repeat(43));
    expect((await gateway.send(urlOf(forged))).status).toBe(403);
    expect((await gateway.send(urlOf(url), { headers: { "sec-purpose": "prefetch" } })).status).toBe(503);
    gateway.partner.state = "suspended";
    await gateway.clock.advance(3000);
    expect((await gateway.send(urlOf(url))).status).toBe(403);
    gateway.partner.state = "active";
    await gateway.clock.advance(3000);
    expect(gateway.woken.count).toBe(0);
    expect((await gateway.send(urlOf(url))).status).toBe(303);
    expect([gateway.woken.count, gateway.session.status]).toEqual([1, "running"]);
    gateway.pause();
    await gateway.clock.advance(300_000);
    expect((await gateway.send(urlOf(url))).status).toBe(410);
    gateway.setStatus("destroyed");
    expect((await gateway.send(urlOf(gateway.launchUrl()))).status).toBe(410);
    expect(gateway.woken.count).toBe(0);
  });

  test("without room stays paused, and every way to open it answers 503 with Retry-After", async () => {
    await using gateway = await openPaused(full());
    const cookie = await gateway.signIn();
    const previewCookie = await cookieFor(gateway, 3000);
    gateway.pause();
    const responses = [
      await gateway.send(urlOf(gateway.launchUrl())),
      await gateway.send(path(gateway, "resume"), { method: "POST", headers: { cookie, origin: gateway.origin } }),
      await gateway.send(`/sandboxes/${gateway.sandboxId}/files`, { headers: key }),
      await sendToPreview(gateway, 3000, "/", { headers: { cookie: previewCookie, accept: "text/html" } }),
    ];
    expect(responses.map(({ status, headers }) => [status, headers["retry-after"]])).toEqual(Array(4).fill([503, "10"]));
  });

  test("is resumed by a call through sandboxUrl, but not without a key for it, to no path, and not by a WebSocket", async () => {
    await using gateway = await openPaused();
    gateway.keys.reader = { id: "acme", scope: "read" };
    gateway.pause();
    const send = async (headers: Record<string, string>, rest = "/files") =>
      (await gateway.send(`/sandboxes/${gateway.sandboxId}${rest}`, { headers })).status;
    const refused = [
      await send({}),
      await send({ "x-api-key": "other" }),
      await send({ "x-api-key": "reader" }),
      await send(key, "/internal/stop"),
    ];
    expect(refused).toEqual([401, 404, 403, 404]);
    const socket = new WebSocket(`ws://localhost:${gateway.port}/sandboxes/${gateway.sandboxId}/events`, { headers: key });
    const [, { statusCode }] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
    expect([statusCode, gateway.woken.count]).toEqual([409, 0]);
    expect([await send(key), gateway.woken.count]).toEqual([200, 1]);
  });

  test("stays paused if the pause comes after a call, and the call fails with session_paused", async () => {
    await using gateway = await openPaused();
    let calls = 0;
    await gateway.serveDaemon((request) => {
      calls++;
      gateway.session.updatedAt = gateway.clock.now() + 1;
      gateway.pause();
      request.socket.destroy();
    });
    const send = async (options: object) => {
      gateway.setStatus("running");
      const { status, headers } = await gateway.send(`/sandboxes/${gateway.sandboxId}/files`, { headers: key, ...options });
      return [status, headers["x-error-code"], gateway.session.status, gateway.woken.count];
    };
    expect(await send({})).toEqual([409, "session_paused", "paused", 0]);
    expect(await send({ method: "PUT", body: "text" })).toEqual([409, "session_paused", "paused", 0]);
    expect(calls).toBe(2);
  });

  test("that another server has paused before a call is resumed for it, and a call with a body is to be repeated", async () => {
    await using gateway = await openPaused();
    let calls = 0;
    await gateway.serveDaemon((request, response) => {
      if (++calls % 2 === 0) return void response.end("from the sandbox");
      // This server learns of it only now.
      gateway.pause();
      request.socket.destroy();
    });
    const url = `/sandboxes/${gateway.sandboxId}/files`;
    expect(await gateway.send(url, { headers: key })).toMatchObject({ status: 200, body: "from the sandbox" });
    expect([gateway.woken.count, calls]).toEqual([1, 2]);
    const write = await gateway.send(url, { method: "PUT", headers: key, body: "text" });
    expect([write.status, write.headers["x-error-code"], write.headers["retry-after"]]).toEqual([503, "session_resuming", "2"]);
    expect([gateway.session.status, calls]).toEqual(["running", 3]);
  });

  test("is resumed by the button of its page, but by nothing that the page does by itself", async () => {
    await using gateway = await openPaused();
    const cookie = await gateway.signIn();
    gateway.pause();
    const own = { cookie, origin: gateway.origin };
    for (const rest of ["", "session", "settings", "api/files"]) await gateway.send(path(gateway, rest), { headers: { cookie } });
    await gateway.send(path(gateway, "activity"), { method: "POST", headers: own });
    const socket = new WebSocket(`ws://localhost:${gateway.port}${path(gateway, "api/events")}`, { headers: own });
    const [code] = (await once(socket, "close")) as [number];
    expect(code).toBe(CLOSE.sessionPaused);
    const resume = (headers: Record<string, string>) => gateway.send(path(gateway, "resume"), { method: "POST", headers });
    const refused = [await resume({ origin: gateway.origin }), await resume({ cookie, origin: "https://evil.example" })];
    expect([...refused.map(({ status }) => status), gateway.woken.count]).toEqual([401, 403, 0]);
    expect(JSON.parse((await resume(own)).body)).toMatchObject({ status: "running", autoResume: true });
    expect(gateway.woken.count).toBe(1);
    gateway.session.autoResume = false;
    gateway.pause();
    expect([(await resume(own)).status, gateway.woken.count]).toEqual([409, 0]);
  });

  test("is resumed by a person who opens a preview in a tab, but not by the preview's own requests, frames and reloads", async () => {
    await using gateway = await openPaused();
    await cookieFor(gateway, 3000);
    const navigation = { accept: "text/html", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const open = async (headers: Record<string, string>) => (await sendToPreview(gateway, 3000, "/", { headers })).status;
    gateway.pause();
    const own: Record<string, string>[] = [
      { accept: "*/*", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "sec-fetch-site": "same-origin" },
      { ...navigation, "sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site" },
      { ...navigation, "sec-fetch-site": "same-origin" },
      { ...navigation, "sec-fetch-site": "none", "sec-purpose": "prefetch" },
      { accept: "*/*" },
    ];
    for (const headers of own) expect(await open(headers)).toBe(409);
    expect(gateway.woken.count).toBe(0);
    const opened: Record<string, string>[] = [
      { ...navigation, "sec-fetch-site": "none" },
      { ...navigation, "sec-fetch-site": "cross-site" },
      { ...navigation, "sec-fetch-site": "same-origin", "sec-fetch-user": "?1" },
      { accept: "text/html,*/*" },
    ];
    for (const headers of opened) {
      gateway.pause();
      expect([await open(headers), gateway.woken.count]).toEqual([200, 1]);
    }
    const shared = await linkTo(gateway, { port: 3000, shareHours: 2 });
    const { headers } = await gateway.send(urlOf(shared), { headers: { host: hostOf(gateway, 3000) } });
    const cookie = headers["set-cookie"]![0]!.split(";")[0]!;
    gateway.pause();
    expect([await open({ ...navigation, "sec-fetch-site": "none", cookie }), gateway.woken.count]).toEqual([409, 0]);
  });
});

test("the page can extend the session as far as was agreed", async () => {
  await using gateway = await openGateway();
  const cookie = await gateway.signIn();
  const startMs = gateway.clock.now();
  gateway.session.extendUntil = startMs + 9_000_000;
  const extend = (headers: Record<string, string>) => gateway.send(path(gateway, "extend"), { method: "POST", headers });
  expect(JSON.parse((await extend({ cookie, origin: gateway.origin })).body)).toMatchObject({
    expiresAtMs: startMs + 7_200_000,
    extendUntilMs: startMs + 9_000_000,
  });
  expect((await extend({ cookie })).status).toBe(403);
  expect((await extend({ origin: gateway.origin })).status).toBe(401);
});

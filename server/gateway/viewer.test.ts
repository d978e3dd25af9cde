import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { CLOSE } from "@berth/contract/daemon.ts";
import { NAME_HEADER, ROLE_HEADER, SUPPORT_VISITOR } from "@berth/contract/workspace/visitor.ts";
import { HOUR } from "../clock.ts";
import { openGateway, type TestGateway } from "./testing/test-gateway.ts";

const ADA = { role: "viewer", displayName: "Ada 🚢" } as const;

describe("a viewer's launch URL", () => {
  test("opens the workspace with the role and the name", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn(ADA);
    const { status, body } = await gateway.send(`/workspace/${gateway.sandboxId}/session`, { headers: { cookie } });
    expect([status, (JSON.parse(body) as { visitor: unknown }).visitor]).toEqual([200, ADA]);
  });

  test("is not valid without its role, with another role, or with another name", async () => {
    await using gateway = await openGateway();
    const { pathname, search } = gateway.launchUrl(ADA);
    const statusOf = async (query: string) => (await gateway.send(pathname + query)).status;
    expect(await statusOf(search)).toBe(303);
    expect(await statusOf(search.replace("&role=viewer", ""))).toBe(403);
    expect(await statusOf(search.replace(/&role=viewer&name=[^&]*/, ""))).toBe(403);
    expect(await statusOf(search.replace("role=viewer", "role=editor"))).toBe(400);
    expect(await statusOf(search.replace("role=viewer", "role="))).toBe(400);
    expect(await statusOf(search.replace("name=Ada", "name=Bob"))).toBe(403);
    expect(await statusOf(`${search}&role=viewer`)).toBe(400);
  });

  test("does not wake a paused session", async () => {
    let wakes = 0;
    await using gateway = await openGateway({ wake: async () => void wakes++ });
    gateway.session.autoResume = true;
    gateway.setStatus("paused");
    const cookie = await gateway.signIn(ADA);
    await gateway.send(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } });
    expect([wakes, gateway.session.status]).toEqual([0, "paused"]);
  });
});

describe("support", () => {
  test("opens a workspace only while the partner allows it, as a viewer, for an hour", async () => {
    let flushes = 0;
    const roles: (string | null)[] = [];
    const connect = () => ({ [Symbol.dispose]() {} });
    const openings = { connect, add: ({ role }: { role: string | null }) => void roles.push(role), flush: async () => void flushes++ };
    await using gateway = await openGateway({ openings });
    const { pathname, search } = gateway.launchUrl(SUPPORT_VISITOR);
    const path = `/workspace/${gateway.sandboxId}/session`;
    expect((await gateway.send(pathname + search)).status).not.toBe(303);
    expect(roles).toEqual([]);

    // Holds at once, although the gateway has the partner in its cache.
    gateway.partner.supportAccess = true;
    expect((await gateway.send(pathname + search.replace("role=support", "role=viewer"))).status).toBe(403);
    const cookie = await gateway.signIn(SUPPORT_VISITOR);
    expect([roles, flushes]).toEqual([["support"], 1]);
    const { body } = await gateway.send(path, { headers: { cookie } });
    expect((JSON.parse(body) as { visitor: unknown }).visitor).toEqual(SUPPORT_VISITOR);
    const origin = { cookie, origin: gateway.origin };
    expect((await gateway.send(`/workspace/${gateway.sandboxId}/extend`, { method: "POST", headers: origin })).status).toBe(403);

    gateway.partner.supportAccess = false;
    gateway.setStatus("running");
    expect((await gateway.send(path, { headers: { cookie } })).status).toBe(401);
    gateway.partner.supportAccess = true;
    expect((await gateway.send(path, { headers: { cookie } })).status).toBe(200);
    await gateway.clock.advance(HOUR);
    expect((await gateway.send(path, { headers: { cookie } })).status).toBe(401);
  });

  test("is visible to the user while it looks", async () => {
    let isLooking = true;
    await using gateway = await openGateway({ hasSupportVisit: () => isLooking });
    const cookie = await gateway.signIn();
    const seen = async () => {
      const { body } = await gateway.send(`/workspace/${gateway.sandboxId}/session`, { headers: { cookie } });
      return (JSON.parse(body) as { hasSupportVisit: boolean }).hasSupportVisit;
    };
    // There is no question if the partner does not allow support.
    expect(await seen()).toBe(false);
    gateway.partner.supportAccess = true;
    gateway.setStatus("running");
    expect(await seen()).toBe(true);
    isLooking = false;
    await gateway.clock.advance(HOUR);
    expect(await seen()).toBe(false);
  });
});

describe("a viewer", () => {
  test("is refused every call of the server that changes something, and does not keep the session from idling", async () => {
    let notes = 0;
    await using gateway = await openGateway({
      activity: { note: () => void notes++, begin: () => ({ [Symbol.dispose]() {} }) },
    });
    const send = await sender(gateway);
    for (const path of ["activity", "resume", "extend", "source/retry", "preview"])
      expect([path, await send("POST", path, "{}")]).toEqual([path, [403, "view_only"]]);
    expect(await send("PUT", "settings", '{"settings":{},"version":0}')).toEqual([403, "view_only"]);
    expect(await send("GET", "settings")).toEqual([403, "view_only"]);
    expect((await send("GET", "session"))[0]).toBe(200);
    await send("GET", "");
    expect(notes).toBe(0);
  });

  test("reaches the daemon only with listed calls, and cannot claim another role", async () => {
    await using gateway = await openGateway();
    const reached: string[] = [];
    await gateway.serveDaemon((request, response) => {
      reached.push(
        `${request.method} ${request.url} ${String(request.headers[ROLE_HEADER])} ${decodeURIComponent(String(request.headers[NAME_HEADER]))}`,
      );
      response.end("{}");
    });
    const send = await sender(gateway, { [ROLE_HEADER]: "editor", [NAME_HEADER]: "Root" });
    expect(await send("PUT", "api/files/content?path=a", "x")).toEqual([403, "view_only"]);
    expect(await send("POST", "api/exec", "{}")).toEqual([403, "view_only"]);
    expect(await send("DELETE", "api/terminals/x")).toEqual([403, "view_only"]);
    expect(await send("GET", "api/something-new")).toEqual([403, "view_only"]);
    expect((await send("GET", "api/files/content?path=a"))[0]).toBe(200);
    expect(reached).toEqual(["GET /files/content?path=a viewer Ada 🚢"]);
  });

  test("gets no WebSocket from a daemon that does not know viewers, and none for a call that is not listed", async () => {
    await using gateway = await openGateway();
    const sockets = new WebSocketServer({ noServer: true });
    let knowsViewers = false;
    sockets.on("headers", (headers) => void (knowsViewers && headers.push(`${ROLE_HEADER}: viewer`)));
    const daemon = await gateway.serveDaemon((_request, response) => response.end());
    daemon.on("upgrade", (request, socket, head) => sockets.handleUpgrade(request, socket, head, (accepted) => accepted.send("hello")));
    const cookie = await gateway.signIn(ADA);
    const connect = (path: string) =>
      new WebSocket(`ws://127.0.0.1:${gateway.port}/workspace/${gateway.sandboxId}/api/${path}`, {
        headers: { cookie, origin: gateway.origin, host: new URL(gateway.origin).host },
      });
    expect((await once(connect("terminals/t"), "close"))[0]).toBe(CLOSE.viewOnly);
    expect((await once(connect("languages/typescript"), "close"))[0]).toBe(CLOSE.viewOnly);
    knowsViewers = true;
    const socket = connect("terminals/t");
    expect(String((await once(socket, "message"))[0])).toBe("hello");
    socket.close();
    await once(socket, "close");
  });
});

async function sender(gateway: TestGateway, headers: Record<string, string> = {}) {
  const cookie = await gateway.signIn(ADA);
  return async (method: string, path: string, body?: string) => {
    const response = await gateway.send(`/workspace/${gateway.sandboxId}/${path}`, {
      method,
      headers: { cookie, origin: gateway.origin, ...headers },
      ...(body !== undefined && { body }),
    });
    return [response.status, response.headers["x-error-code"]];
  };
}

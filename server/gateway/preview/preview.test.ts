import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { openGateway } from "../testing/test-gateway.ts";
import { cookieFor, hostOf, sendToPreview } from "../testing/test-preview.ts";

describe("a preview", () => {
  test("hides our cookies from the application and rewrites its address to localhost", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(JSON.stringify(request.headers)));
    const own = `http://${hostOf(gateway, 5173)}`;
    const cookie = `theirs=1; ${await cookieFor(gateway, 5173)}; berth-preview=x`;
    const { body } = await sendToPreview(gateway, 5173, "/", {
      method: "POST",
      headers: {
        cookie,
        origin: own,
        referer: `${own}/a?b`,
        authorization: "Basic eDp5",
        "x-custom": "kept",
        connection: "x-hop, keep-alive",
        "x-hop": "1",
      },
    });
    expect(JSON.parse(body)).toEqual({
      host: "localhost:5173",
      origin: "http://localhost:5173",
      referer: "http://localhost:5173/a?b",
      cookie: "theirs=1",
      authorization: "Basic eDp5",
      "x-custom": "kept",
      "x-berth-token": "daemon-token",
      connection: "keep-alive",
      "content-length": "0",
    });
  });

  test("refuses a request with two hosts", async () => {
    await using gateway = await openGateway();
    const socket = connect(gateway.port, "127.0.0.1");
    socket.end(`GET / HTTP/1.1\r\nhost: ${hostOf(gateway, 3000)}\r\nHost: elsewhere.example\r\nconnection: close\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("relays a single cookie, and tolerates repeated headers", async () => {
    await using gateway = await openGateway();
    await gateway.serveRawDaemon((socket) =>
      socket.once("data", () =>
        socket.end(
          "HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nconnection: close\r\nconnection: x-a\r\nvary: b\r\nvary: c\r\nx-a: 1\r\ncontent-length: 0\r\n\r\n",
        ),
      ),
    );
    const { status, headers } = await sendToPreview(gateway, 3000, "/");
    expect([status, headers["set-cookie"], headers.vary, headers["x-a"]]).toEqual([200, ["a=1"], "b, c", undefined]);
  });

  test("removes headers with effects beyond its own origin", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => {
      response.setHeader("set-cookie", [
        "a=1; Domain=localhost; Path=/",
        "__Host-berth-preview=evil; Secure; Path=/",
        "BERTH-sbx_1=evil",
        "b=2; HttpOnly",
      ]);
      response.setHeader("location", "http://localhost:5173/next");
      response.setHeader("access-control-allow-origin", "http://127.0.0.1:3000");
      response.setHeader("content-security-policy", "default-src 'self'; frame-ancestors 'none'; img-src *");
      response.setHeader("strict-transport-security", "max-age=1; includeSubDomains");
      response.setHeader("x-frame-options", "DENY");
      response.setHeader("alt-svc", 'h2="evil.example:443"');
      response.setHeader("clear-site-data", '"cookies", "storage"');
      response.setHeader("nel", '{"report_to":"x","max_age":1,"include_subdomains":true}');
      response.setHeader("report-to", '{"group":"x","max_age":1,"endpoints":[{"url":"https://evil.example"}]}');
      response.setHeader("reporting-endpoints", 'x="https://evil.example"');
      response.setHeader("secure-session-registration", '(ES256);path="/evil"');
      response.writeHead(302).end();
    });
    const { status, headers } = await sendToPreview(gateway, 5173, "/");
    expect(status).toBe(302);
    expect(headers["set-cookie"]).toEqual(["a=1; Path=/", "b=2; HttpOnly"]);
    expect(headers.location).toBe(`http://${hostOf(gateway, 5173)}/next`);
    expect(headers["access-control-allow-origin"]).toBe(`http://${hostOf(gateway, 3000)}`);
    expect(headers["content-security-policy"]).toBe(
      `default-src 'self'; img-src *, frame-ancestors 'self' https://app.acme.example ${gateway.origin}`,
    );
    for (const name of [
      "strict-transport-security",
      "x-frame-options",
      "alt-svc",
      "clear-site-data",
      "nel",
      "report-to",
      "reporting-endpoints",
      "secure-session-registration",
    ])
      expect([name, headers[name]]).toEqual([name, undefined]);
  });

  test("adds the script that reports the address to uncompressed pages in a frame, and to nothing else", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, "http://localhost");
      for (const [name, value] of searchParams) response.setHeader(name, value);
      response.setHeader("x-accepted", request.headers["accept-encoding"] ?? "");
      if (pathname.endsWith("/sized")) response.setHeader("content-length", 8);
      response.end("<p>hi</p>".slice(0, 8));
    });
    const tag = '<script src="/.berth/address.js"></script>';
    const frame = { headers: { "sec-fetch-dest": "iframe", "accept-encoding": "gzip" } };
    const page = "?content-type=text/html;charset=utf-8";
    expect((await sendToPreview(gateway, 5173, `/${page}`, frame)).body).toBe(`<p>hi</p${tag}`);
    expect(await sendToPreview(gateway, 5173, `/sized${page}`, frame)).toMatchObject({
      body: `<p>hi</p${tag}`,
      headers: { "content-length": String(8 + tag.length), "x-accepted": "identity" },
    });
    const unchanged = [
      sendToPreview(gateway, 5173, `/${page}`, { headers: { "sec-fetch-dest": "document", "accept-encoding": "gzip" } }),
      sendToPreview(gateway, 5173, "/?content-type=text/plain", frame),
      sendToPreview(gateway, 5173, "/?content-type=text/html;charset=utf-16", frame),
      sendToPreview(gateway, 5173, "/?content-type=text/html&content-encoding=br", frame),
    ];
    for (const reply of unchanged) expect((await reply).body).toBe("<p>hi</p");
    expect((await unchanged[0]!).headers["x-accepted"]).toBe("gzip");
    const script = await sendToPreview(gateway, 5173, "/.berth/address.js");
    expect(script.headers["content-type"]).toContain("javascript");
    expect(script.body).toContain(JSON.stringify(gateway.origin));
  });

  test("counts as use of the session, unless the request is refused", async () => {
    let uses = 0;
    const activity = { note: () => void uses++, begin: () => ({ [Symbol.dispose]() {} }) };
    await using gateway = await openGateway({ activity });
    await gateway.serveDaemon((_request, response) => response.end());
    expect((await sendToPreview(gateway, 5173, "/", { headers: {} })).status).toBe(200);
    expect(uses).toBe(1);
    expect((await sendToPreview(gateway, 5173, "/", { method: "POST", headers: { origin: "https://evil.example" } })).status).toBe(403);
    await gateway.send("/", { headers: { host: hostOf(gateway, 5173) } });
    expect(uses).toBe(1);
  });

  test("accepts mutations only from pages of the same sandbox", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.end());
    const status = async (headers: Record<string, string>) => (await sendToPreview(gateway, 5173, "/", { method: "POST", headers })).status;
    expect(await status({ origin: `http://${hostOf(gateway, 5173)}` })).toBe(200);
    expect(await status({ origin: `http://${hostOf(gateway, 3000)}` })).toBe(200);
    expect(await status({ origin: "null", "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await status({ origin: "null" })).toBe(403);
    expect(await status({ origin: "https://evil.example" })).toBe(403);
    expect(await status({ origin: gateway.origin })).toBe(403);
    expect(await status({ origin: `http://${hostOf(gateway, 5173).replace(/sbx-.{26}/, `sbx-${"0".repeat(26)}`)}` })).toBe(403);
    expect(await status({})).toBe(403);
  });

  test("shows a page if no server listens, and if the session is paused, destroyed or suspended", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => {
      response.setHeader("x-error-code", "port_closed");
      response.writeHead(502).end("{}");
    });
    const title = async () => /<h1>(.*)<\/h1>/.exec((await sendToPreview(gateway, 5173, "/")).body)?.[1];
    expect(await title()).toBe("No server is listening on this port");
    gateway.setStatus("paused");
    expect(await title()).toBe("The workspace is paused");
    gateway.setStatus("destroyed");
    expect(await title()).toBe("This workspace no longer exists");
    gateway.partner.state = "suspended";
    gateway.setStatus("running");
    expect(await title()).toBe("Access is suspended");
  });

  test("relays WebSockets with the application's subprotocol, as hot reload needs", async () => {
    await using gateway = await openGateway();
    const received: (string | undefined)[] = [];
    const sockets = new WebSocketServer({ noServer: true });
    const server = await gateway.serveDaemon((_request, response) => response.end());
    server.on("upgrade", (request: IncomingMessage, socket, head) => {
      received.push(request.url, request.headers.host, request.headers.origin);
      sockets.handleUpgrade(request, socket, head, (client) => client.send("full-reload"));
    });
    const host = hostOf(gateway, 5173);
    const cookie = await cookieFor(gateway, 5173);
    const connectFrom = (origin: string) =>
      new WebSocket(`ws://127.0.0.1:${gateway.port}/?token=1`, ["vite-hmr"], { headers: { host, cookie, origin } });
    const socket = connectFrom(`http://${host}`);
    expect(String((await once(socket, "message"))[0])).toBe("full-reload");
    expect(socket.protocol).toBe("vite-hmr");
    expect(received).toEqual(["/ports/5173/?token=1", "localhost:5173", "http://localhost:5173"]);
    gateway.setStatus("paused");
    expect((await once(socket, "close"))[0]).toBe(4409);
    const foreign = connectFrom("https://evil.example");
    expect(String((await once(foreign, "error"))[0])).toContain("403");
  });

  test("serves every path of its own hosts, and no other host", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(request.url));
    const cookie = await gateway.signIn();
    const own = { headers: { host: hostOf(gateway, 80), cookie: `${cookie}; ${await cookieFor(gateway, 80)}` } };
    expect((await gateway.send("/api/b2b/sessions", own)).body).toBe("/ports/80/api/b2b/sessions");
    expect((await gateway.send(`/workspace/${gateway.sandboxId}/session`, own)).body).toContain("/ports/80/workspace/");
    expect((await gateway.send("/x", { headers: { host: hostOf(gateway, 80).toUpperCase(), cookie: own.headers.cookie } })).body).toBe(
      "/ports/80/x",
    );
    for (const host of ["99999-x.localhost", `0-${gateway.sandboxId}.localhost:${gateway.port}`, `80-${gateway.sandboxId}.evil.example`])
      expect((await gateway.send("/", { headers: { host } })).body).toBe("not the gateway's");
  });
});

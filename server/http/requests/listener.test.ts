import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { silentLog, type Log } from "../../log.ts";
import { createListener } from "./listener.ts";

const SLOW = "POST /PATH HTTP/1.1\r\nhost: berth\r\ncontent-length: 4\r\nconnection: close\r\n\r\nab";

test("an API request has a body timeout, and an upload through the mount has none", async () => {
  const echo = (request: IncomingMessage, response: ServerResponse) =>
    void text(request).then(
      (body) => response.end(body),
      () => {},
    );
  const mount = { owns: (request: IncomingMessage) => request.url === "/upload", request: echo, upgrade() {} };
  const server = createListener(echo, mount, { log: silentLog, bodyTimeoutMs: 100 });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;

  const call = connect(port, "127.0.0.1");
  call.write(SLOW.replace("PATH", "call"));
  const refusal = await text(call);
  expect(refusal).toMatch(/^HTTP\/1\.1 408 /);
  expect(refusal).toContain("request_timeout");

  const upload = connect(port, "127.0.0.1");
  upload.write(SLOW.replace("PATH", "upload"));
  setTimeout(() => upload.write("cd"), 300);
  expect(await text(upload)).toMatch(/^HTTP\/1\.1 200 [^]*abcd/);
  server.close();
});

test.each(["CONNECT elsewhere:443 HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n"])(
  "a refused connection (%j) is closed when its caller leaves, although the caller's bytes were never read",
  async (start) => {
    const server = createListener(() => {}, undefined, { log: silentLog });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const caller = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
    caller.write(start + "x".repeat(200_000));
    await once(caller, "data");
    caller.destroy();
    const { promise, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    await promise;
  },
  10_000,
);

// Node removes its listeners, including the error listener, from a connection that requests CONNECT or an upgrade.
test.each(["CONNECT elsewhere:443", "GET / ", "GET /socket", "nonsense"])(
  "a caller that resets its connection after `%s` affects no other connection",
  async (start) => {
    const mount = { owns: (request: IncomingMessage) => request.url === "/socket", request() {}, upgrade: refuseUpgrade };
    const server = createListener((_request, response) => void response.end("alive"), mount, { log: silentLog });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const sent = `${start} HTTP/1.1\r\nhost: berth\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`;
    for (let i = 0; i < 20; i++) {
      const caller = connect(port, "127.0.0.1").on("error", () => {});
      await once(caller, "connect");
      caller.write(sent);
      if (i % 2 === 0) caller.resetAndDestroy();
      else caller.once("data", () => caller.resetAndDestroy());
      await once(caller, "close");
    }
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("alive");
    server.close();
  },
);

test("a handler that throws ends its own connection and no other", async () => {
  const failures: string[] = [];
  const log: Log = { ...silentLog, error: (event) => void failures.push(event) };
  const mount = {
    owns: (request: IncomingMessage) => request.url !== "/alive",
    request: () => {
      throw new Error("a bug");
    },
    upgrade: () => {
      throw new Error("another bug");
    },
  };
  const server = createListener((_request, response) => void response.end("alive"), mount, { log });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(fetch(`${url}/`)).rejects.toThrow("fetch failed");
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nhost: berth\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
  expect(await text(socket)).toBe("");
  expect(await (await fetch(`${url}/alive`)).text()).toBe("alive");
  expect(failures).toEqual(["connection.failed", "connection.failed"]);
  server.close();
});

test("bytes that are not HTTP get an error reply between responses, and cut a response that is being sent", async () => {
  const server = createListener(
    (request, response) => void (request.url === "/endless" ? response.write("a part") : response.end("whole")),
    undefined,
    { log: silentLog },
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const statusesAfter = async (path: string) => {
    const caller = connect(port, "127.0.0.1").on("error", () => {});
    caller.write(`GET ${path} HTTP/1.1\r\nhost: berth\r\n\r\n`);
    const [first] = (await once(caller, "data")) as [Buffer];
    caller.write("nonsense\r\n\r\n");
    const rest = await text(caller).catch(() => "");
    return `${String(first)}${rest}`.match(/HTTP\/1\.1 \d+/g);
  };
  expect(await statusesAfter("/")).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  expect(await statusesAfter("/endless")).toEqual(["HTTP/1.1 200"]);
  server.close();
});

function refuseUpgrade(_request: IncomingMessage, socket: Duplex): void {
  socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n");
}

import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { silentLog } from "../../log.ts";
import { createListener } from "./listener.ts";

let servers: Server[] = [];
afterEach(() => {
  for (const server of servers) server.close();
  servers = [];
});

async function listen(handler: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>): Promise<number> {
  const server = createListener(handler, undefined, { log: silentLog });
  await once(server.listen(0, "127.0.0.1"), "listening");
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

const requests = (count: number, last = "") =>
  Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nhost: berth\r\n${i === count - 1 ? last : ""}\r\n`).join("");

describe("requests that arrive together on one connection", () => {
  test("are answered in order, one in each round of the event loop", async () => {
    let inThisRound = 0;
    let mostInOneRound = 0;
    const port = await listen((request, response) => {
      mostInOneRound = Math.max(mostInOneRound, ++inThisRound);
      setImmediate(() => (inThisRound = 0));
      response.end(`${request.url};`);
    });
    const caller = connect(port, "127.0.0.1");
    caller.write(requests(30, "connection: close\r\n"));
    const answered = (await text(caller)).match(/\/\d+;/g);
    expect(answered).toEqual(Array.from({ length: 30 }, (_, i) => `/${i};`));
    expect(mostInOneRound).toBe(1);
  });

  test("wait for the response to the one before, with their bodies", async () => {
    const bodies: string[] = [];
    const first = Promise.withResolvers<void>();
    const port = await listen(async (request, response) => {
      bodies.push(await text(request));
      if (bodies.length === 1) await first.promise;
      response.end(`${bodies.length}`);
    });
    const caller = connect(port, "127.0.0.1");
    const post = (body: string, header = "") => `POST / HTTP/1.1\r\nhost: berth\r\ncontent-length: ${body.length}\r\n${header}\r\n${body}`;
    caller.write(post("one") + post("x".repeat(200_000), "connection: close\r\n"));
    await expect.poll(() => bodies).toEqual(["one"]);
    first.resolve();
    await text(caller);
    expect(bodies.map((body) => body.length)).toEqual([3, 200_000]);
  });

  test("may have a body that its handler does not read to the end", async () => {
    const port = await listen(async (request, response) => {
      // The end of the loop destroys the request, which then has no socket.
      for await (const _chunk of request) break;
      response.end("enough");
    });
    const caller = connect(port, "127.0.0.1").on("error", () => {});
    caller.write("POST / HTTP/1.1\r\nhost: berth\r\ncontent-length: 9\r\n\r\nbody");
    await once(caller, "data");
    // An error would be thrown in the next round of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    caller.destroy();
  });

  test("close the connection when there are too many, and the rest is not handled", async () => {
    let handled = 0;
    const port = await listen(() => void handled++);
    const caller = connect(port, "127.0.0.1").on("error", () => {});
    caller.write(requests(1_000));
    await once(caller, "close");
    expect(handled).toBe(1);
  });
});

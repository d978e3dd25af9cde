import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { currentWork, markWork } from "../event-loop/loop-work.ts";
import { coverableClass, createConnectionBoundary, createStreamCover } from "./connection-boundary.ts";
import { silentLog, type Log } from "../log.ts";

function openBoundary() {
  const lines: { event: string; fields: Record<string, unknown> }[] = [];
  const log: Log = { ...silentLog, error: (event, fields) => void lines.push({ event, fields: { ...fields } }) };
  return { boundary: createConnectionBoundary({ log, connection: "test", fields: { sandboxId: "sbx_1" } }), lines };
}

test("a throw in a listener destroys every stream of the connection and is logged once", async () => {
  const { boundary, lines } = openBoundary();
  const [one, other] = [new PassThrough(), new PassThrough()];
  boundary.cover(one, other);
  // Added after `cover`, as a library would.
  one.on("data", () => {
    throw new RangeError("Invalid status code: 0");
  });
  other.on("close", () => {
    throw new Error("once more");
  });
  one.write("bytes");
  await expect.poll(() => one.closed && other.closed).toBe(true);
  expect(lines).toEqual([
    {
      event: "connection.failed",
      fields: { connection: "test", sandboxId: "sbx_1", error: expect.stringContaining("Invalid status code: 0") },
    },
  ]);
});

test("a handler that throws or rejects closes the connection", async () => {
  for (const handler of [
    () => {
      throw new Error("at once");
    },
    async () => {
      throw new Error("later");
    },
  ]) {
    const { boundary, lines } = openBoundary();
    const stream = new PassThrough();
    boundary.cover(stream);
    const closed = once(stream, "close");
    boundary.run(handler);
    await closed;
    expect(lines).toHaveLength(1);
  }
});

test("a stream that is added to a failed boundary is destroyed", () => {
  const { boundary } = openBoundary();
  boundary.run(() => {
    throw new Error("too late");
  });
  const stream = new PassThrough();
  boundary.cover(stream);
  expect(stream.destroyed).toBe(true);
});

test("a reset of a socket without an error listener closes that socket and is not logged", async () => {
  const { boundary, lines } = openBoundary();
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer(accepted.resolve);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const peer = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const socket = await accepted.promise;
  boundary.cover(socket);
  socket.resume();
  // `once` of node:events would add an error listener.
  const closed = new Promise((resolve) => socket.on("close", resolve));
  peer.resetAndDestroy();
  await closed;
  expect(lines).toEqual([]);
  server.close();
});

test("work that a connection's bytes cause has the connection's name until a handler names it", async () => {
  const { boundary } = openBoundary();
  const stream = new PassThrough();
  boundary.cover(stream);
  const names: string[] = [];
  stream.on("data", () => {
    names.push(currentWork().name);
    markWork({ name: "a route" });
    stream.emit("finish");
    names.push(currentWork().name);
  });
  markWork({ name: "something else" });
  stream.write("bytes");
  await expect.poll(() => names).toEqual(["test connection", "a route"]);
  markWork({ name: "something else" });
  boundary.run(() => names.push(currentWork().name));
  expect(names.at(-1)).toBe("test connection");
});

test("a stream of a coverable class is covered like any other, without methods of its own", async () => {
  const { boundary, lines } = openBoundary();
  const Coverable = coverableClass(PassThrough);
  const [covered, uncovered] = [new Coverable(), new Coverable()];
  const fail = () => {
    throw new Error("in a listener");
  };
  boundary.cover(covered);
  for (const stream of [covered, uncovered]) stream.on("custom", fail);
  expect(Object.keys(covered)).toEqual(Object.keys(uncovered));
  const closed = once(covered, "close");
  covered.emit("custom");
  await closed;
  expect(lines).toHaveLength(1);
  expect(() => uncovered.emit("custom")).toThrow("in a listener");
});

test("a throw in a listener of a stream that stands alone destroys that stream only, and is logged once", async () => {
  const lines: unknown[] = [];
  const log: Log = { ...silentLog, error: (event, fields) => void lines.push([event, fields]) };
  const cover = createStreamCover({ log, connection: "test" });
  const [one, other] = [new PassThrough(), new PassThrough()];
  for (const stream of [one, other]) cover(stream);
  for (const event of ["custom", "close"])
    one.on(event, () => {
      throw new Error(`in ${event}`);
    });
  one.emit("custom");
  await expect.poll(() => one.closed).toBe(true);
  expect(other.destroyed).toBe(false);
  expect(lines).toEqual([["connection.failed", { connection: "test", error: expect.stringContaining("in custom") }]]);
});

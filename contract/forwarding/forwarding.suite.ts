import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

// Hostile upstreams, for everything that forwards HTTP. Whatever the upstream sends, the caller gets a clear answer or a closed connection,
// the next request is served, and the process lives: an exception that reaches a test's process fails the whole file.
export interface TestForwarder extends AsyncDisposable {
  // Opens a connection of a caller.
  connect(): Socket;
  // The request lines of requests that are passed on, and their headers.
  requests: { get: string; post: string; upgrade?: string };
  // The body of `post`.
  body?: string;
  // The start of the answer in place of one that cannot be passed on.
  refusal?: RegExp;
  // Answers that it handles in another way than most.
  exceptions?: Record<string, Outcome>;
  // The exceptions that were caught at a boundary. None of these upstreams causes one.
  faults?: () => unknown[];
}

export interface TestUpstream {
  port: number;
  // Handles a connection that arrives in another way than at the port.
  accept(socket: Socket): void;
}

// `refused`: the answer of the forwarder itself. `cut`: the same, or an answer that does not look complete, if any. `served`: a complete
// answer with `alive` in it. `any`: all of these.
export type Outcome = "refused" | "cut" | "served" | "any";

type Behaviour = (socket: Socket) => void;

const OK = "HTTP/1.1 200 OK\r\n";
// It announces its end, because the next request may follow on a connection that is kept.
const GOOD = `${OK}connection: close\r\ncontent-length: 5\r\n\r\nalive`;
const METHODS = ["get", "post"] as const;
// In the body, unlike "keep-alive".
const SERVED = /\nalive/;
const says =
  (text: string): Behaviour =>
  (socket) =>
    void socket.end(Buffer.from(text, "latin1"));

const HOSTILE: Record<string, [behave: Behaviour, outcome: Outcome]> = {
  "status 000": [says("HTTP/1.1 000 x\r\n\r\n"), "refused"],
  "status 001 with a body": [says("HTTP/1.1 001 x\r\ncontent-length: 2\r\n\r\nhi"), "refused"],
  "status 099": [says("HTTP/1.1 099 x\r\n\r\n"), "refused"],
  "status 199 and no other": [says("HTTP/1.1 199 x\r\n\r\n"), "refused"],
  "status 600": [says("HTTP/1.1 600 x\r\n\r\n"), "refused"],
  "status 999": [says("HTTP/1.1 999 x\r\ncontent-length: 0\r\n\r\n"), "refused"],
  "status 1000": [says("HTTP/1.1 1000 x\r\n\r\n"), "refused"],
  "a negative status": [says("HTTP/1.1 -20 x\r\n\r\n"), "refused"],
  "status 000 after an interim answer": [says("HTTP/1.1 102 P\r\n\r\nHTTP/1.1 000 x\r\n\r\n"), "refused"],
  "interim answers and no other": [says("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\n\r\n"), "refused"],
  "an unrequested upgrade": [(socket) => void socket.write("HTTP/1.1 101 S\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nbytes"), "refused"],
  "101 without an upgrade": [says("HTTP/1.1 101 S\r\n\r\n"), "refused"],
  "requests to continue without end": [flood("HTTP/1.1 100 Continue\r\n\r\n"), "refused"],
  "early hints without end": [flood("HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n"), "refused"],
  "headers without end": [flood(`x-padding: ${"a".repeat(1000)}\r\n`, OK), "refused"],
  "a few interim answers first": [says(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n${GOOD}`), "served"],
  "a reason phrase of 200 kB": [says(`HTTP/1.1 200 ${"r".repeat(200_000)}\r\ncontent-length: 0\r\n\r\n`), "refused"],
  "control characters in the reason phrase": [says("HTTP/1.1 200 a\x01\x02\xff\r\ncontent-length: 5\r\n\r\nalive"), "served"],
  "a header name with a space": [says(`${OK}bad name: x\r\n\r\n`), "refused"],
  "a header name with control characters": [says(`${OK}b\x7fd: x\r\n\r\n`), "refused"],
  "a header without a name": [says(`${OK}: a\r\ncontent-length: 0\r\n\r\n`), "refused"],
  "a header without a colon": [says(`${OK}nonsense\r\n\r\n`), "refused"],
  "a header value with a control character": [says(`${OK}x: a\x01b\r\n\r\n`), "refused"],
  "a header value with a NUL": [says(`${OK}x: a\x00b\r\n\r\n`), "refused"],
  "a header in two lines": [says(`${OK}x: a\r\n b\r\ncontent-length: 0\r\n\r\n`), "refused"],
  "names of object properties as headers": [
    says(`${OK}__proto__: a\r\nconstructor: x\r\nhasOwnProperty: y\r\ncontent-length: 5\r\n\r\nalive`),
    "served",
  ],
  "100,000 headers": [says(`${OK}${"a: b\r\n".repeat(100_000)}\r\n`), "refused"],
  "a header of 100 kB": [says(`${OK}a: ${"x".repeat(100_000)}\r\n\r\n`), "refused"],
  "half a head": [says("HTTP/1.1 200 OK\r\ncontent-le"), "refused"],
  "two lengths": [says(`${OK}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`), "refused"],
  "a negative length": [says(`${OK}content-length: -5\r\n\r\nhello`), "refused"],
  "a length and chunks": [says(`${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`), "refused"],
  "more than its length": [says(`${OK}content-length: 2\r\n\r\nhello HTTP/1.1 000 x`), "cut"],
  "less than its length": [says(`${OK}content-length: 50\r\n\r\nhalf`), "cut"],
  "a second answer, with status 000": [says(`${GOOD}HTTP/1.1 000 x\r\n\r\n`), "any"],
  "chunks that are none": [says(`${OK}transfer-encoding: chunked\r\n\r\nZZ\r\nhello`), "cut"],
  "a chunk of 2^72 bytes": [says(`${OK}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello`), "cut"],
  "chunks without their end": [says(`${OK}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`), "cut"],
  "trailers with illegal characters": [says(`${OK}transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx y: \x01\r\n\r\n`), "cut"],
  trailers: [says(`${OK}trailer: x-a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nalive\r\n0\r\nx-a: b\r\n\r\n`), "served"],
  "a trailer without chunks": [says(`${OK}trailer: x-a\r\ncontent-length: 5\r\n\r\nalive`), "served"],
  "no length": [says(`${OK}\r\nalive`), "served"],
  "a body behind 204": [says("HTTP/1.1 204 N\r\ncontent-length: 4\r\n\r\nbody"), "cut"],
  "chunks behind 304": [says("HTTP/1.1 304 N\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"), "cut"],
  "no HTTP at all": [says("\x00\x01\x02 nothing\r\n\r\n"), "refused"],
  "another protocol": [says("SSH-2.0-OpenSSH_9.2\r\n"), "refused"],
  nothing: [(socket) => void socket.end(), "refused"],
  "a reset": [reset, "refused"],
  "a reset in the middle of the body": [(socket) => void socket.write(`${OK}content-length: 50\r\n\r\nhalf`, () => reset(socket)), "cut"],
};

export interface ForwarderTraits {
  // It reads a whole body before it sends anything, so no upstream can answer early.
  readsWholeBody?: true;
}

export function describeForwarder(
  name: string,
  open: (upstream: TestUpstream) => Promise<TestForwarder>,
  { readsWholeBody }: ForwarderTraits = {},
): void {
  describe(`${name}, with an upstream that`, () => {
    let behave: Behaviour = says(GOOD);
    let received = "";
    const connections = new Set<Socket>();
    const accept = (socket: Socket) => {
      connections.add(socket);
      socket.on("close", () => connections.delete(socket)).on("error", () => {});
      socket.once("data", (bytes) => {
        received = bytes.toString("latin1");
        behave(socket);
      });
    };
    const upstream = createServer(accept);
    let forwarder: TestForwarder;

    beforeAll(async () => {
      await once(upstream.listen(0, "127.0.0.1"), "listening");
      forwarder = await open({ port: (upstream.address() as AddressInfo).port, accept });
    });
    afterAll(async () => {
      await forwarder?.[Symbol.asyncDispose]();
      for (const socket of connections) socket.destroy();
      upstream.close();
      await once(upstream, "close");
    });
    afterEach(async () => {
      await expect.poll(() => connections.size, { interval: 2 }).toBe(0);
      behave = says(GOOD);
      expect(await outcomes()).toEqual(["served", "served"]);
      expect(forwarder.faults?.() ?? []).toEqual([]);
    });

    const framingOf = (method: "get" | "post") =>
      method === "get" ? "\r\n\r\n" : `\r\nexpect: 100-continue\r\ncontent-length: ${bodyOf().length}\r\n\r\n${bodyOf()}`;
    const bodyOf = () => forwarder.body ?? "body";

    // Everything that the forwarder sends until it closes the connection, which it must do.
    async function ask(method: "get" | "post", headers = "connection: close"): Promise<string> {
      const socket = forwarder.connect().on("error", () => {});
      socket.write(`${forwarder.requests[method]}\r\n${headers}${framingOf(method)}`);
      return untilClosed(socket);
    }

    // One after the other: a forwarder that keeps connections must not get one for the second request that is being closed.
    async function outcomes(): Promise<string[]> {
      const seen: string[] = [];
      for (const method of METHODS) {
        seen.push(outcomeOf(await ask(method)));
        await expect.poll(() => connections.size, { interval: 2 }).toBe(0);
      }
      return seen;
    }

    function outcomeOf(answer: string): string {
      if ((forwarder.refusal ?? /^HTTP\/1\.1 502 /).test(answer)) return "refused";
      if (!isComplete(answer)) return "cut";
      return SERVED.test(answer) ? "served" : answer;
    }

    test.each(Object.entries(HOSTILE))("sends %s", async (name, [hostile, usual]) => {
      const outcome = forwarder.exceptions?.[name] ?? usual;
      behave = hostile;
      for (const seen of await outcomes()) {
        const allowed = outcome === "cut" ? ["refused", "cut"] : outcome === "any" ? [seen] : [outcome];
        expect(allowed).toContain(seen);
      }
      if (forwarder.requests.upgrade !== undefined) await upgrade(forwarder.requests.upgrade);
    });

    async function upgrade(request: string): Promise<void> {
      const socket = forwarder.connect().on("error", () => {});
      socket.write(`${request}\r\n${WEBSOCKET}\r\n\r\n`);
      await Promise.race([once(socket, "close"), once(socket, "data")]);
      socket.destroy();
    }

    test("names headers of its connection", async () => {
      const own = "x-named: 1\r\nkeep-alive: timeout=77\r\nproxy-authenticate: Basic\r\nproxy-authorization: x\r\nte: trailers";
      behave = says(`${OK}connection: close, x-named\r\n${own}\r\ntrailer: x-t\r\nupgrade: h2c\r\ncontent-length: 5\r\n\r\nalive`);
      const answer = await ask("post", `connection: close, x-named\r\n${own}`);
      expect(outcomeOf(answer)).toBe("served");
      for (const text of [answer, received]) expect(text).not.toMatch(/^(?:x-named|proxy-\w+|te|trailer|upgrade|expect):|timeout=77/im);
    });

    test("sends an answer without end to a caller that does not read it", async () => {
      let sent = 0;
      behave = (socket) => {
        const block = Buffer.from(`10000\r\n${"a".repeat(65_536)}\r\n`);
        const more = () => {
          while (!socket.destroyed && socket.write(block)) sent += block.length;
        };
        socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`);
        socket.on("drain", more);
        more();
      };
      const rss = process.memoryUsage().rss;
      const caller = forwarder.connect().on("error", () => {});
      caller.write(`${forwarder.requests.get}\r\n\r\n`);
      let before = -1;
      await expect.poll(() => sent > 0 && before === (before = sent), { interval: 150, timeout: 10_000 }).toBe(true);
      expect(sent).toBeLessThan(60_000_000);
      expect(process.memoryUsage().rss - rss).toBeLessThan(150_000_000);
      behave = says(GOOD);
      expect(outcomeOf(await ask("get"))).toBe("served");
      caller.destroy();
    });

    test.each(readsWholeBody ? [] : ["answers before it has the whole body"])("%s", answerEarly);

    async function answerEarly(): Promise<void> {
      const [first, rest] = [Buffer.alloc(65_536), Buffer.alloc(4 * 1024 * 1024)];
      const caller = forwarder.connect().on("error", () => {});
      let answer = "";
      const answered = new Promise<void>((resolve) => {
        caller.on("data", (bytes) => SERVED.test((answer += bytes.toString("latin1"))) && resolve());
        caller.on("close", () => resolve());
      });
      caller.write(`${forwarder.requests.post}\r\ncontent-length: ${first.length + rest.length}\r\n\r\n`);
      caller.write(first);
      await answered;
      expect(answer).toMatch(SERVED);
      caller.write(rest);
      caller.write(`${forwarder.requests.get}\r\nconnection: close\r\n\r\n`);
      // The connection is closed after the first answer, or the next request on it is served.
      await closed(caller);
      expect([2, 3]).toContain(answer.split(SERVED).length);
    }

    test("is left alone by callers that disconnect at any moment", async () => {
      behave = (socket) => void socket.write(`${OK}content-length: 50\r\n\r\nhalf`);
      for (const method of METHODS)
        for (const moment of ["connect", "data", "sent"]) {
          const socket = forwarder.connect().on("error", () => {});
          await once(socket, "connect");
          socket.write(`${forwarder.requests[method]}${framingOf(method)}`, () => void (moment === "sent" && socket.destroy()));
          if (moment === "connect") socket.destroy();
          socket.once("data", () => socket.destroy());
          await closed(socket);
        }
    });
  });
}

const WEBSOCKET =
  "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\norigin: http://x";

async function untilClosed(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (bytes) => (text += bytes.toString("latin1")));
  await closed(socket);
  return text.replaceAll("HTTP/1.1 100 Continue\r\n\r\n", "");
}

const closed = async (socket: Socket) => socket.closed || once(socket, "close", { signal: AbortSignal.timeout(15_000) });

function isComplete(answer: string): boolean {
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  const body = rest.join("\r\n\r\n");
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  if (length !== undefined) return body.length === Number(length) || /^HTTP\/1\.1 (?:204|304)/.test(head);
  return /^transfer-encoding: chunked$/im.test(head) ? body.endsWith("0\r\n\r\n") : /^HTTP\/1\.1 (?:204|304)/.test(head);
}

// A Unix socket can only be closed.
function reset(socket: Socket): void {
  void (socket.remoteAddress === undefined ? socket.destroy() : socket.resetAndDestroy());
}

function flood(text: string, head = ""): Behaviour {
  return (socket) => {
    const timer = setInterval(() => socket.write(text.repeat(100)), 5);
    socket.write(head);
    socket.once("close", () => clearInterval(timer));
  };
}

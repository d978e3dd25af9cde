import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../support/machine.ts";
import { missing, openSandboxes, type Sandbox, type Sandboxes } from "./sandboxes.ts";

// Answers with the bytes that the query contains, or with a long head, and ends the connection.
const PROGRAM = `
import { createServer } from "node:net";
createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", (head) => {
    const [, target] = head.toString("latin1").split(" ");
    const answer = new URL(target, "http://x").searchParams.get("answer");
    socket.end(answer === "long" ? "HTTP/1.1 200 OK\\r\\nX-A: " + "a".repeat(100_000) + "\\r\\n\\r\\n" : Buffer.from(answer, "base64url"));
  });
}).listen(3000, "127.0.0.1", () => console.log("listening"));
`;

const RESPONSES: Record<string, string> = {
  "the status 000": "HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n",
  "the status 001": "HTTP/1.1 001 One\r\nContent-Length: 2\r\n\r\nhi",
  "the status 099": "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n",
  "the status 600": "HTTP/1.1 600 High\r\nContent-Length: 0\r\n\r\n",
  "the status 999": "HTTP/1.1 999 Higher\r\nContent-Length: 0\r\n\r\n",
  "the status 1000": "HTTP/1.1 1000 Long\r\nContent-Length: 0\r\n\r\n",
  "an unrequested protocol switch": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nraw bytes",
  "only informational responses": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 199 Odd\r\n\r\n",
  "a status line of rubbish": "\x00\xff\xfe rubbish\r\n\r\n",
  "another protocol": "SSH-2.0-OpenSSH_9.2\r\n",
  nothing: "",
  "half a head": "HTTP/1.1 200 OK\r\nContent-Le",
  "control characters in a header": "HTTP/1.1 200 OK\r\nX-A: a\x01b\x00\r\nContent-Length: 0\r\n\r\n",
  "a header without a name": "HTTP/1.1 200 OK\r\n: a\r\nContent-Length: 0\r\n\r\n",
  "a head of 100 KB": "long",
  "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
  "a wrong trailer": "HTTP/1.1 200 OK\r\nTrailer: X-A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-A: \x01\r\n\r\n",
  "bytes after the end": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more",
  "a wrong chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
};
// A caller gets these, because the fault is not in what it reads.
const FORWARDED: Record<string, string> = {
  "a trailer without chunks": "HTTP/1.1 200 OK\r\nTrailer: X-A\r\nContent-Length: 2\r\n\r\nhi",
  "a trailer with chunks": "HTTP/1.1 200 OK\r\nTrailer: X-A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-A: b\r\n\r\n",
  // The reason is not passed on.
  "control characters in the reason": "HTTP/1.1 200 a\x01b\x00c\x7f\r\nContent-Length: 2\r\n\r\nhi",
  "no length": "HTTP/1.1 200 OK\r\n\r\nhi",
};

// Programs listen on ports, and the daemon relays what they send. None of it may end the daemon: the sandbox would end with it.
describeWith(missing, "a hostile program on a port", () => {
  let sandboxes: Sandboxes;
  let sandbox: Sandbox;

  beforeAll(async () => {
    sandboxes = await openSandboxes();
    sandbox = await sandboxes.create();
    await sandbox.sh(`cat > hostile.mjs <<'END'${PROGRAM}END`);
    await sandbox.sh("/opt/berth/bin/node hostile.mjs > out 2>&1 & echo $! > pid; until grep -q listening out; do sleep 0.1; done");
  });
  afterAll(() => sandboxes?.[Symbol.asyncDispose]());

  const pathFor = (bytes: string) => `/ports/3000/?answer=${bytes === "long" ? bytes : Buffer.from(bytes, "latin1").toString("base64url")}`;
  const outcome = async (bytes: string, method = "GET") => {
    try {
      const { status, body } = await sandboxes.links.request(sandbox.id, { method, path: pathFor(bytes), headersTimeoutMs: 10_000 });
      return `${status} ${await text(body)}`;
    } catch (error) {
      return String((error as Error).cause).includes("no answer") ? "silent" : "broken";
    }
  };
  // The program was not started again, and neither was the sandbox.
  const survives = async () => expect((await sandbox.sh("kill -0 $(cat pid) && echo alive")).output).toBe("alive\n");

  test.each(Object.keys(RESPONSES))("that sends %s gets its caller a 502 or a broken response, and the sandbox survives", async (name) => {
    for (const method of ["GET", "HEAD", "POST"])
      expect([method, await outcome(RESPONSES[name]!, method)]).toEqual([method, expect.stringMatching(/^(502 |broken)$/)]);
    await survives();
  });

  test.each(Object.keys(FORWARDED))("that sends %s is forwarded", async (name) => {
    expect(await outcome(FORWARDED[name]!)).toBe("200 hi");
    await survives();
  });

  test("that answers a WebSocket with rubbish ends that connection and nothing else", async () => {
    const headers = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": "x".repeat(24) };
    for (const bytes of Object.values(RESPONSES)) {
      const upgraded = await sandboxes.links.upgrade(sandbox.id, { path: pathFor(bytes), headers }).catch(() => null);
      if (upgraded && "socket" in upgraded) upgraded.socket.destroy();
    }
    await survives();
  });
});

import { once } from "node:events";
import { duplexPair } from "node:stream";
import { connect } from "node:tls";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ENCRYPTED_CLIENT_HELLO, extension, hello, helloMessage, records, serverName } from "../testing/client-hellos.ts";
import { MAX_HELLO_BYTES, readClientHello } from "./client-hello.ts";

async function helloOfNode(options: { servername?: string; maxVersion?: "TLSv1.2" }): Promise<Buffer> {
  const [socket, peer] = duplexPair();
  const client = connect({ socket, ...options }).on("error", () => {});
  const [bytes] = (await once(peer, "data")) as [Buffer];
  client.destroy();
  return bytes;
}

test("the name in the hello of a real client is found, with TLS 1.3 and 1.2", async () => {
  for (const options of [{ servername: "api.Example.com" }, { servername: "api.example.com", maxVersion: "TLSv1.2" as const }])
    expect(readClientHello(await helloOfNode(options))).toEqual({ is: "hello", serverName: "api.example.com" });
  expect(readClientHello(await helloOfNode({}))).toEqual({ is: "hello", serverName: null });
});

test("a hello is found in records and segments of any size", async () => {
  const message = helloMessage([extension(10, Buffer.alloc(4)), serverName("a.example")]);
  for (const size of [16_384, 100, 7]) {
    const bytes = records(message, size);
    for (let length = 0; length < bytes.length; length++) {
      const read = readClientHello(bytes.subarray(0, length));
      // Otherwise the next bytes would not be looked at.
      expect(read.is === "incomplete" && read.bytes > length && read.bytes <= bytes.length).toBe(true);
    }
    expect(readClientHello(Buffer.concat([bytes, Buffer.from("early data")]))).toEqual({ is: "hello", serverName: "a.example" });
  }
});

test("the outer name counts if the hello has an encrypted one", () => {
  const encrypted = extension(ENCRYPTED_CLIENT_HELLO, Buffer.alloc(200, 9));
  expect(readClientHello(hello(encrypted, serverName("outer.example")))).toEqual({ is: "hello", serverName: "outer.example" });
  expect(readClientHello(hello(encrypted))).toEqual({ is: "hello", serverName: null });
});

test("a hello without extensions names no server, and a trailing dot of a name does not count", () => {
  expect(readClientHello(records(helloMessage(null)))).toEqual({ is: "hello", serverName: null });
  expect(readClientHello(hello(serverName("a.example.")))).toEqual({ is: "hello", serverName: "a.example" });
});

test.each<[string, Buffer]>([
  ["two names", hello(serverName("a.example", "b.example"))],
  ["two fields with a name", hello(serverName("a.example"), serverName("b.example"))],
  ["an empty name", hello(serverName(""))],
  ["an empty list of names", hello(serverName())],
  ["a NUL in the name", hello(serverName("a.example\0.b.example"))],
  ["a name that is no ASCII", hello(serverName("\u00e4.example"))],
  ["a name of another kind", hello(extension(0, Buffer.from([0, 4, 1, 0, 1, 97])))],
  [
    "an extension that is longer than the message",
    records(Buffer.concat([helloMessage([]).subarray(0, -2), Buffer.from([0, 4, 0, 0, 255, 255])])),
  ],
  ["another message than a hello", records(Buffer.from([2, 0, 0, 1, 0]))],
  ["an empty record", Buffer.from([22, 3, 1, 0, 0])],
  ["a record that is too long", Buffer.from([22, 3, 1, 255, 255])],
  ["a hello that is too long", records(Buffer.from([1, 255, 255, 255]))],
  ["too many records", records(helloMessage([serverName("a.example")]), 1)],
  [
    "an alert in between",
    Buffer.concat([records(helloMessage([serverName("a.example")]).subarray(0, 50)), Buffer.from([21, 3, 1, 0, 2, 1, 0])]),
  ],
])("%s is invalid", (_, bytes) => {
  expect(readClientHello(bytes)).toEqual({ is: "invalid" });
});

test.each(["GET / HTTP/1.1\r\n", "SSH-2.0-OpenSSH_9.6\r\n", "\x80\x2e\x01\x03\x01", "\x16\x02\x01", "\0"])(
  "%j is another protocol",
  (text) => {
    expect(readClientHello(Buffer.from(text, "latin1"))).toEqual({ is: "other" });
  },
);

test("no bytes make it throw, read on without end, or find a name that is none", () => {
  const valid = hello(extension(10, Buffer.alloc(20)), serverName("a.example"), extension(ENCRYPTED_CLIENT_HELLO, Buffer.alloc(40)));
  const damaged = fc
    .array(fc.record({ at: fc.nat(valid.length - 1), value: fc.nat(255) }), { maxLength: 5 })
    .map((changes) => changes.reduce((bytes, { at, value }) => bytes.fill(value, at, at + 1), Buffer.from(valid)));
  const anything = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.concat([Buffer.from([22, 3, 1]), bytes]));
  fc.assert(
    fc.property(fc.oneof(damaged, anything), (bytes) => {
      const read = readClientHello(bytes);
      if (read.is === "incomplete") expect(read.bytes > bytes.length && read.bytes <= MAX_HELLO_BYTES).toBe(true);
      if (read.is === "hello" && read.serverName !== null) expect(read.serverName).toMatch(/^[a-z0-9_.-]{1,255}$/);
    }),
    { numRuns: 2_000 },
  );
});

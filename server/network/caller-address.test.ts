import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { callerAddress, createProxyTrust } from "./caller-address.ts";

const isTrusted = createProxyTrust(["10.0.0.0/8", "127.0.0.1", "fd00::1"]);
const from = (remoteAddress: string, forwarded?: string) =>
  callerAddress({ socket: { remoteAddress }, headers: { "x-forwarded-for": forwarded } } as unknown as IncomingMessage, isTrusted);

test("the caller is the last address that no trusted proxy has", () => {
  expect(from("203.0.113.1")).toBe("203.0.113.1");
  expect(from("::ffff:203.0.113.1", "198.51.100.7")).toBe("203.0.113.1");
  expect(from("127.0.0.1", "198.51.100.7")).toBe("198.51.100.7");
  expect(from("::ffff:10.1.2.3", "192.0.2.9, 198.51.100.7, 10.9.9.9")).toBe("198.51.100.7");
  expect(from("fd00::1", "2001:db8::5")).toBe("2001:db8::5");
});

test("a caller cannot choose its address, not even with addresses that are none", () => {
  expect(from("203.0.113.1", "127.0.0.1")).toBe("203.0.113.1");
  expect(from("127.0.0.1", "127.0.0.1, 198.51.100.7")).toBe("198.51.100.7");
  expect(from("127.0.0.1", "unknown, ")).toBe("127.0.0.1");
  expect(from("127.0.0.1", "10.0.0.5")).toBe("10.0.0.5");
});

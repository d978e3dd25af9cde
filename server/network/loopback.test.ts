import { expect, test } from "vitest";
import { isLoopbackHost, isLoopbackUrl } from "./loopback.ts";

test("only names and addresses that always mean this machine are loopback", () => {
  for (const host of ["localhost", "LOCALHOST", "app.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
    expect([host, isLoopbackHost(host)]).toEqual([host, true]);
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "berth.example", "localhost.example", "127.0.0.1.example", "notlocalhost", "1270.0.0.1"])
    expect([host, isLoopbackHost(host)]).toEqual([host, false]);
  expect(isLoopbackUrl("http://localhost:8080")).toBe(true);
  expect(isLoopbackUrl("http://[::1]:8080")).toBe(true);
  expect(isLoopbackUrl("https://berth.example.com")).toBe(false);
});

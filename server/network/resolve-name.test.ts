import { expect, test } from "vitest";
import { addressesInHosts, resolveLocalName, resolveName } from "./resolve-name.ts";

test("localhost and its subdomains resolve to loopback without a name server", async () => {
  for (const host of ["localhost", "app.localhost"]) {
    expect(await resolveName(host)).toEqual(["127.0.0.1", "::1"]);
    expect(await resolveLocalName(host)).toContain("127.0.0.1");
  }
});

test("a name in the hosts file resolves to the addresses listed there", () => {
  const text = ["# 10.0.0.9 receiver", "127.0.0.1\tlocalhost", "10.0.0.1  Receiver other # receiver2", "fd00::1 receiver", ""].join("\n");
  expect(addressesInHosts(text, "RECEIVER")).toEqual(["10.0.0.1", "fd00::1"]);
  expect(addressesInHosts(text, "other")).toEqual(["10.0.0.1"]);
  for (const host of ["receiver2", "10.0.0.1", ""]) expect(addressesInHosts(text, host)).toEqual([]);
});

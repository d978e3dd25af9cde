import { expect, test } from "vitest";
import { isPublicAddress } from "./public-address.ts";

test.each([
  ["127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1"],
  [
    "255.255.255.255",
    "240.0.0.1",
    "198.18.0.1",
    "192.0.0.192",
    "168.63.129.16",
    "::ffff:a83f:8110",
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
  ],
  ["::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "100::1", "2001:db8::1"],
  // IPv4 inside IPv6: mapped, compatible, translated, NAT64 (known and local prefix), 6to4, Teredo.
  ["::ffff:127.0.0.1", "::ffff:8.8.8.8.", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1"],
  ["64:ff9b:1::10.0.0.1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::", "not an address", ""],
])("%s and similar addresses are not public", (...addresses) => {
  expect(addresses.filter(isPublicAddress)).toEqual([]);
});

test("Internet addresses are public", () => {
  expect(["8.8.8.8", "1.1.1.1", "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450::1"].filter((one) => !isPublicAddress(one))).toEqual([]);
});

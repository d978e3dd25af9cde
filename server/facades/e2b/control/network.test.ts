import { expect, test } from "vitest";
import { toEgress } from "./network.ts";

test("rules of E2B become a policy, and what no policy can say is refused", () => {
  expect(toEgress({})).toBeUndefined();
  expect(toEgress({ allowInternet: true, allowOut: ["a.example"] })).toBeUndefined();
  expect(toEgress({ allowInternet: false })).toEqual({ policy: "none" });
  expect(toEgress({ denyOut: ["0.0.0.0/0"] })).toEqual({ policy: "none" });
  expect(toEgress({ denyOut: ["0.0.0.0/0"], allowOut: ["1.1.1.1", "*.a.example"] })).toEqual({
    policy: "hosts",
    hosts: ["1.1.1.1", "*.a.example"],
  });
  expect(toEgress({ denyOut: ["8.8.8.8", "10.0.0.0/8"] })).toEqual({ policy: "public", deny: ["8.8.8.8", "10.0.0.0/8"] });
  for (const network of [
    { denyOut: ["8.8.8.8"], allowOut: ["8.8.8.8"] },
    { denyOut: ["0.0.0.0/0"], allowOut: ["10.0.0.0/8"] },
    { rules: {} },
    { egressProxy: { address: "a:1" } },
  ])
    expect(() => toEgress(network)).toThrow("not supported by Berth");
  expect(() => toEgress({ denyOut: "all" as never })).toThrow("list of strings");
});

import { expect, test } from "vitest";
import { createCallsUnderWay } from "../calls-under-way.ts";
import { createCapacity } from "./capacity.ts";

const HOST = { driver: "oci", host: "machine" };

function open(idleProcessors: () => number, site: { driver: string; host: string | null } = HOST) {
  const calls = createCallsUnderWay();
  return { calls, capacity: createCapacity(site, "sqlite", { maxSandboxes: 10, reserveBytes: 0, calls, idleProcessors }) };
}

async function waitOf(work: () => Promise<void>): Promise<number> {
  const fromMs = performance.now();
  await work();
  return performance.now() - fromMs;
}

test("a call that can wait gives way to others on a busy machine, for half a second at most", async () => {
  const { calls, capacity } = open(() => 0);
  expect(await waitOf(capacity.giveWay)).toBeLessThan(40);
  const end = calls.begin();
  expect(await waitOf(capacity.giveWay)).toBeGreaterThan(400);
  const waiting = capacity.giveWay();
  end();
  await waiting;
  expect(await waitOf(capacity.giveWay)).toBeLessThan(40);
});

test("it does not wait where processors are idle, or where the sandboxes are on other machines", async () => {
  const idle = open(() => 64);
  idle.calls.begin();
  expect(await waitOf(idle.capacity.giveWay)).toBeLessThan(40);
  const elsewhere = open(() => 0, { driver: "kubernetes", host: null });
  elsewhere.calls.begin();
  expect(await waitOf(elsewhere.capacity.giveWay)).toBeLessThan(40);
});

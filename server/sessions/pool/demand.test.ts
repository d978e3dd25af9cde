import { expect, test } from "vitest";
import { MINUTE } from "../../clock.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { createDemand } from "./demand.ts";

function openDemand(options: { size: number; max: number } = { size: 2, max: 10 }) {
  const clock = createTestClock();
  const demand = createDemand({ clock, ...options });
  const take = (count: number, { missed = 0, partnerId = "acme", partners = 1 } = {}) => {
    for (let i = 0; i < count; i++) demand.taken("default");
    const waiting = Array.from({ length: missed }, () => demand.missed("default", { partnerId, partners }));
    return { served: () => waiting.forEach((create) => create[Symbol.dispose]()) };
  };
  return { clock, demand, take, target: () => demand.targetOf("default") };
}

test("every create that finds no warm sandbox raises the target of its template, up to the maximum", () => {
  const { demand, take, target } = openDemand();
  expect(target()).toBe(2);
  take(6, { missed: 4 });
  expect(target()).toBe(6);
  expect(demand.targetOf("other")).toBe(2);
  take(100, { missed: 100 });
  expect(target()).toBe(10);
});

test("without demand the target returns to the pool's size within ten minutes", async () => {
  const { clock, take, target } = openDemand();
  take(8, { missed: 6 });
  await clock.advance(4 * MINUTE);
  expect(target()).toBe(8);
  await clock.advance(MINUTE);
  expect(target()).toBe(8);
  await clock.advance(5 * MINUTE);
  expect(target()).toBe(2);
});

test("a server that looks again after a long time finds the pool's size", async () => {
  const { clock, take, target } = openDemand();
  take(8, { missed: 6 });
  await clock.advance(60 * MINUTE);
  expect(target()).toBe(2);
});

test("bursts that the pool serves keep its target, and smaller ones halve it", async () => {
  const { clock, demand, take, target } = openDemand();
  take(8, { missed: 6 });
  for (const taken of [8, 4]) {
    await clock.advance(5 * MINUTE);
    demand.full("default");
    take(taken);
  }
  await clock.advance(5 * MINUTE);
  expect(target()).toBe(8);
  take(3);
  await clock.advance(5 * MINUTE);
  expect(target()).toBe(4);
});

test("creates between which the pool is full again are no burst", async () => {
  const { clock, demand, take, target } = openDemand();
  take(8, { missed: 6 });
  await clock.advance(5 * MINUTE);
  for (let i = 0; i < 20; i++) {
    demand.full("default");
    take(1);
  }
  await clock.advance(5 * MINUTE);
  expect(target()).toBe(2);
});

test("a pool that is turned off does not grow", () => {
  const { take, target } = openDemand({ size: 0, max: 10 });
  take(5, { missed: 5 });
  expect(target()).toBe(0);
});

test("creates that wait one after the other raise the target no further, until the pool was full again", () => {
  const { demand, take, target } = openDemand({ size: 2, max: 100 });
  for (let i = 0; i < 50; i++) take(6, { missed: 6 }).served();
  expect(target()).toBe(8);
  demand.full("default");
  take(14, { missed: 6 }).served();
  expect(target()).toBe(14);
});

test("a period in which most creates found none although the pool had grown returns the target to the pool's size", async () => {
  const { clock, demand, take, target } = openDemand();
  take(8, { missed: 6 }).served();
  await clock.advance(5 * MINUTE);
  demand.full("default");
  take(20, { missed: 9 }).served();
  await clock.advance(5 * MINUTE);
  expect(target()).toBe(10);
  take(20, { missed: 11 }).served();
  await clock.advance(5 * MINUTE);
  expect(target()).toBe(2);
});

test("one of several partners uses only its part of the growth", () => {
  const { take, target } = openDemand();
  take(100, { missed: 100, partnerId: "flood", partners: 2 });
  expect(target()).toBe(6);
  take(3, { missed: 3, partnerId: "neighbour", partners: 2 });
  expect(target()).toBe(9);
});

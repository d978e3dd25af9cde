import { expect, test } from "vitest";
import { createSlots } from "./slots.ts";

test("a slot is free again when it is disposed, and those who wait get it in turn", async () => {
  const slots = createSlots(2);
  const order: string[] = [];
  const first = await slots.take();
  await slots.take();
  const third = slots.take().then((slot) => (order.push("third"), slot));
  const fourth = slots.take().then((slot) => (order.push("fourth"), slot));
  await Promise.resolve();
  expect(order).toEqual([]);
  first[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  await fourth;
  expect(order).toEqual(["third", "fourth"]);
});

test("too many waiting callers are refused", async () => {
  const slots = createSlots(1);
  await slots.take();
  for (let i = 0; i < 64; i++) void slots.take();
  await expect(slots.take()).rejects.toMatchObject({ code: "busy" });
});

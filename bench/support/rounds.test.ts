import { expect, test } from "vitest";
import { alternate } from "./rounds.ts";

test("rounds alternate between the contestants, begin with each in turn, and do not count while they warm up", async () => {
  const order: string[] = [];
  const contestant = (name: string) => {
    let calls = 0;
    return {
      name,
      async round() {
        order.push(name);
        calls++;
        return [calls, calls * 10];
      },
    };
  };
  const values = await alternate([contestant("a"), contestant("b"), contestant("c")], { rounds: 2, warmUps: 1 });
  expect(order.join("")).toBe("abcbcacab");
  expect(Object.fromEntries(values)).toEqual({ a: [2, 20, 3, 30], b: [2, 20, 3, 30], c: [2, 20, 3, 30] });
});

test("when the time is over, the current round ends and no other begins", async () => {
  let rounds = 0;
  const contestants = ["a", "b"].map((name) => ({ name, round: async () => [++rounds] }));
  const values = await alternate(contestants, { rounds: 10, warmUps: 1, isOver: () => rounds >= 3 });
  expect(Object.fromEntries(values)).toEqual({ a: [4], b: [3] });
});

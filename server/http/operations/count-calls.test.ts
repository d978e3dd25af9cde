import { fastify } from "fastify";
import { expect, test } from "vitest";
import { createCallsUnderWay } from "../../sessions/calls-under-way.ts";
import { countCalls } from "./count-calls.ts";

test("a call counts until its response is complete, unless it only ends something", async () => {
  await using app = fastify();
  const calls = createCallsUnderWay();
  countCalls(app, calls);
  app.all("/count", () => calls.count);
  await app.listen({ port: 0, host: "127.0.0.1" });
  const url = `${app.listeningOrigin}/count`;
  const countDuring = async (method: string) => Number(await (await fetch(url, { method })).text());
  expect(await countDuring("POST")).toBe(1);
  await expect.poll(() => calls.count).toBe(0);
  expect(await countDuring("DELETE")).toBe(0);
  expect(calls.count).toBe(0);
});

import { once } from "node:events";
import { connect } from "node:net";
import { fastify } from "fastify";
import { expect, test } from "vitest";
import { createCallsUnderWay } from "../../sessions/calls-under-way.ts";
import { watchCalls } from "./watch-calls.ts";

test("a call counts until its response is complete, unless it only ends something", async () => {
  await using app = fastify();
  const calls = createCallsUnderWay();
  watchCalls(app, calls);
  app.all("/count", () => calls.count);
  await app.listen({ port: 0, host: "127.0.0.1" });
  const url = `${app.listeningOrigin}/count`;
  const countDuring = async (method: string) => Number(await (await fetch(url, { method })).text());
  expect(await countDuring("POST")).toBe(1);
  await expect.poll(() => calls.count).toBe(0);
  expect(await countDuring("DELETE")).toBe(0);
  expect(calls.count).toBe(0);
});

test("a call that is answered is reported with its time, and one whose caller has gone is not", async () => {
  await using app = fastify();
  const calls = createCallsUnderWay();
  const answered: string[] = [];
  watchCalls(app, calls).onAnswered((request, reply, ms) => void answered.push(`${request.url} ${reply.statusCode} ${ms > 0}`));
  const begun = Promise.withResolvers<void>();
  app.get("/endless", () => {
    begun.resolve();
    return new Promise(() => {});
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const gone = connect(Number(new URL(app.listeningOrigin).port), "127.0.0.1");
  gone.write("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
  await begun.promise;
  expect(calls.count).toBe(1);
  await once(gone.destroy(), "close");
  await expect.poll(() => calls.count).toBe(0);
  await (await fetch(`${app.listeningOrigin}/unknown`)).text();
  await expect.poll(() => answered).toEqual(["/unknown 404 true"]);
});

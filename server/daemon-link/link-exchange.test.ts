import { expect, test } from "vitest";
import type { Dispatcher } from "undici";
import { exchange } from "./link-exchange.ts";

// A dispatcher that never gets a connection.
const stuck = { dispatch: () => true } as unknown as Dispatcher;
const request = { method: "GET", path: "/", headers: {}, body: null, bodyTimeoutMs: 0 };

test("a request that waits for a connection ends with its caller, and at its deadline", async () => {
  const gone = new AbortController();
  const asked = exchange(stuck, { ...request, headersTimeoutMs: 60_000, signal: gone.signal });
  gone.abort(new Error("the caller left"));
  await expect(asked).rejects.toThrow("the caller left");
  await expect(exchange(stuck, { ...request, headersTimeoutMs: 1, signal: undefined })).rejects.toThrow("The sandbox does not answer");
});

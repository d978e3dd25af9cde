import { describe, expect, test } from "vitest";
import { startReceiver } from "../../testing/receivers.ts";
import { sendMessage } from "./send.ts";

describe("private addresses", () => {
  test("are refused after the name is resolved, unless the operator allows them", async () => {
    await using receiver = await startReceiver();
    const { port } = new URL(receiver.url);
    const send = (url: string, { allowPrivate }: { allowPrivate: boolean }) =>
      sendMessage({ url, headers: {}, body: "{}" }, { allowPrivate, signal: AbortSignal.timeout(30_000) });
    for (const host of [
      "127.0.0.1",
      "localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "0x7f000001",
      "2130706433",
      "10.0.0.1",
      "169.254.169.254",
    ]) {
      expect(await send(`http://${host}:${port}/`, { allowPrivate: false })).toEqual({
        ok: false,
        status: null,
        error: "The address is not on the public Internet",
      });
    }
    expect(receiver.received).toEqual([]);
    expect(await send(`http://localhost:${port}/`, { allowPrivate: true })).toEqual({ ok: true, status: 204 });
  });

  test("a receiver that never answers takes no longer than one attempt", async () => {
    const never = Promise.withResolvers<number>();
    const late = new AbortController();
    await using receiver = await startReceiver(() => {
      late.abort();
      return never.promise;
    });
    const outcome = await sendMessage({ url: receiver.url, headers: {}, body: "{}" }, { allowPrivate: true, signal: late.signal });
    expect(outcome).toEqual({ ok: false, status: null, error: "No response within 15 seconds" });
    never.resolve(200);
  });
});

import { describe, expect, test } from "vitest";
import { DAY, HOUR, MINUTE, SECOND } from "../../clock.ts";
import { startReceiver } from "../testing/receivers.ts";
import { useTestWebhooks } from "../testing/use-test-webhooks.ts";

const { current, createHook, addEvent, deliver, deliverAfter, deliveries } = useTestWebhooks();

describe("a receiver that fails", () => {
  test("for a while receives every event afterwards, in order for each session", async () => {
    let healthy = false;
    await using receiver = await startReceiver(() => (healthy ? 200 : 500));
    const { id } = await createHook(receiver.url);
    for (let n = 0; n < 10; n++) await addEvent(`ses_${n % 2}`, n);
    await deliver();
    await deliverAfter(6 * SECOND);
    await deliverAfter(6 * MINUTE);
    // Only the first delivery of each lane is attempted.
    expect(new Set(receiver.events().map(({ data }) => data.n))).toEqual(new Set([0, 1]));
    expect((await deliveries(id, "?state=pending")).data).toHaveLength(10);
    healthy = true;
    receiver.received.length = 0;
    await deliverAfter(40 * MINUTE);
    await deliver();
    const perSession = Map.groupBy(receiver.events(), ({ data }) => data.sessionId);
    expect(perSession.get("ses_0")!.map(({ data }) => data.n)).toEqual([0, 2, 4, 6, 8]);
    expect(perSession.get("ses_1")!.map(({ data }) => data.n)).toEqual([1, 3, 5, 7, 9]);
    expect((await deliveries(id, "?state=pending")).data).toEqual([]);
  });

  test("gets ten attempts over three days, and then the next event", async () => {
    await using receiver = await startReceiver(({ body }) => (body.includes('"n":1') ? 500 : 200));
    const { id } = await createHook(receiver.url);
    await addEvent("ses_a", 1);
    await addEvent("ses_a", 2);
    await deliver();
    for (const wait of [6 * SECOND, 6 * MINUTE, 36 * MINUTE, 2.4 * HOUR, 6 * HOUR, 12 * HOUR, 17 * HOUR, 24 * HOUR, 29 * HOUR])
      await deliverAfter(wait);
    expect(receiver.events().map(({ data }) => data.n)).toEqual([...Array(10).fill(1), 2]);
    const failed = (await deliveries(id, "?state=failed")).data;
    expect(failed).toMatchObject([{ attempts: 10, lastStatus: 500, lastError: "The receiver answered 500" }]);
  });

  test("for five days is disabled, and receives what it missed when it is enabled again", async () => {
    let healthy = false;
    await using receiver = await startReceiver(() => (healthy ? 200 : 503));
    const { id } = await createHook(receiver.url);
    for (let day = 0; day <= 6; day++) {
      await addEvent(`ses_${day}`, day);
      await deliver();
      await deliverAfter(DAY);
    }
    const path = `/api/b2b/webhooks/${id}`;
    expect((await current.app.call("GET", path)).json).toMatchObject({ enabled: false, disabledReason: "failing" });
    healthy = true;
    receiver.received.length = 0;
    await addEvent("ses_x", 100);
    await deliver();
    expect(receiver.received).toEqual([]);
    expect((await current.app.call("PATCH", path, { body: { enabled: true } })).json).toMatchObject({
      enabled: true,
      disabledReason: null,
    });
    await deliver();
    await deliver();
    expect(new Set(receiver.events().map(({ data }) => data.n))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 100]));
  });

  test("with 410 is disabled at once, and a redirect is a failure", async () => {
    await using gone = await startReceiver(() => 410);
    await using moved = await startReceiver(() => 302);
    const [first, second] = [await createHook(gone.url), await createHook(moved.url)];
    await addEvent("ses_a", 1);
    await deliver();
    expect((await current.app.call("GET", `/api/b2b/webhooks/${first.id}`)).json).toMatchObject({ enabled: false, disabledReason: "gone" });
    expect((await deliveries(second.id)).data).toMatchObject([{ state: "pending", attempts: 1, lastStatus: 302 }]);
    expect(moved.received).toHaveLength(1);
  });

  test("by hanging delays no other receiver", async () => {
    const never = Promise.withResolvers<number>();
    await using hanging = await startReceiver(() => never.promise);
    await using other = await startReceiver();
    await createHook(hanging.url);
    await createHook(other.url);
    for (let n = 0; n < 60; n++) await addEvent(`ses_${n}`, n);
    await current.app.webhooks.tick();
    await expect.poll(() => other.received).toHaveLength(60);
    expect(hanging.received.length).toBeLessThanOrEqual(4);
    never.resolve(204);
    // An attempt lasts at most 15 s. On a slower machine it is retried.
    const reached = async () => {
      await deliverAfter(6 * MINUTE);
      return new Set(hanging.received.map(({ headers }) => headers["webhook-id"])).size;
    };
    await expect.poll(reached).toBe(60);
  });

  test("by refusing connections has the reason in its delivery log", async () => {
    const { id } = await createHook("http://127.0.0.1:1/");
    await addEvent("ses_a", 1);
    await deliver();
    expect((await deliveries(id)).data).toMatchObject([{ lastStatus: null, lastError: "The connection failed: ECONNREFUSED" }]);
  });
});

import { expect, test } from "vitest";
import { newId } from "@berth/contract";
import { onBothEngines } from "../../../../tests/support/databases/stores.ts";
import { MINUTE } from "../../../clock.ts";
import { silentLog } from "../../../log.ts";
import { modelUsageOf } from "../../../store/partners/model-usage.ts";
import { modelUsageOfUser } from "../../../store/testing/model-usage-of-user.ts";
import { createTestClock } from "../../../testing/test-clock.ts";
import { beginCount } from "./usage-count.ts";

onBothEngines("the token cap", (databases) => {
  // Two servers on one database.
  async function openServers() {
    await using opening = new AsyncDisposableStack();
    const database = await databases.create();
    const stores = [opening.use(await database.open()), opening.use(await database.open())];
    const clock = createTestClock(Date.now());
    const user = { sessionId: newId("ses", clock.now()), partnerId: "acme", externalUserId: "ada", template: "default" };
    const opened = opening.move();
    return {
      clock,
      db: stores[0]!.db,
      used: () => modelUsageOf(stores[0]!.db, user.sessionId),
      usedOfUser: () => modelUsageOfUser(stores[0]!.db, "acme", "ada"),
      // A request that does not wait for others.
      begin: (server: number, outputTokens: number) =>
        beginCount(
          { store: stores[server]!, clock, log: silentLog },
          user,
          { promptTokens: 10, outputTokens, isStreamed: false },
          { cap: 20_000, disconnected: new AbortController().signal, waitMs: 0 },
        ),
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    };
  }

  test("holds for requests at once, on two servers", async () => {
    await using servers = await openServers();
    const begun = await Promise.allSettled(Array.from({ length: 16 }, (_, i) => servers.begin(i % 2, 3000)));
    const counts = begun.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    expect(counts).toHaveLength(6);
    expect(await servers.used()).toEqual({ input: 60, output: 0 });
    for (const count of counts) await count.settle(undefined, "disconnected");
    expect(await servers.used()).toEqual({ input: 60, output: 18_000 });
  });

  test("keeps what a dead server has reserved, and counts it as used when its time is over", async () => {
    await using servers = await openServers();
    const lost = await servers.begin(0, 15_000);
    await expect(servers.begin(1, 6000)).rejects.toThrow("Other requests have reserved");
    await servers.clock.advance(10 * MINUTE);
    const next = await servers.begin(1, 4000);
    expect(await servers.used()).toEqual({ input: 20, output: 15_000 });
    await next.cancel();
    // The server was not dead after all.
    await lost.cancel();
    expect([await servers.used(), await servers.usedOfUser()]).toEqual(Array(2).fill({ input: 0, output: 0 }));
    expect(await servers.db.selectFrom("model_reservations").selectAll().execute()).toEqual([]);
  });
});

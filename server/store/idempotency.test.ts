import { expect, test } from "vitest";
import { onBothEngines } from "../../tests/support/databases/stores.ts";
import { claimKey, releaseKey, releaseKeysOf, storeResponse } from "./idempotency.ts";

const nowMs = Date.UTC(2030, 0, 1);

onBothEngines("idempotency keys", (databases) => {
  test("one of many concurrent requests claims a key; it survives a restart, and a failure releases it", async () => {
    const database = await databases.create();
    await using store = await database.open();
    const claim = (owner: string, fingerprint = "f") => ({ partnerId: "acme", scope: "s", fingerprint, owner });
    const claims = await Promise.all(
      Array.from({ length: 16 }, (_, i) => claimKey(store.db, claim(`o${i}`), nowMs, nowMs + 1000, nowMs + 9000)),
    );
    const winner = claims.findIndex(({ is }) => is === "mine");
    expect(claims.map(({ is }) => is).sort()).toEqual([...Array<string>(15).fill("in_flight"), "mine"]);
    await releaseKey(store.db, claim(`o${winner}`));
    expect(await claimKey(store.db, claim("a"), nowMs, nowMs + 1000, nowMs + 9000)).toEqual({ is: "mine" });
    // The lease of `a` expires and `b` takes over, so the response of `a` does not count.
    expect(await claimKey(store.db, claim("b"), nowMs + 1001, nowMs + 2000, nowMs + 9000)).toEqual({ is: "mine" });
    expect(await storeResponse(store.db, claim("a"), { status: 201, body: "a" })).toBe(false);
    expect(await storeResponse(store.db, claim("b"), { status: 201, body: "b" })).toBe(true);
    await using reopened = await database.open();
    expect(await claimKey(reopened.db, claim("c"), nowMs + 3000, nowMs + 4000, nowMs + 9000)).toEqual({
      is: "done",
      status: 201,
      body: "b",
    });
    expect(await claimKey(reopened.db, claim("c", "other"), nowMs + 3000, nowMs + 4000, nowMs + 9000)).toEqual({ is: "mismatch" });
    expect(await claimKey(reopened.db, claim("c", "other"), nowMs + 9000, nowMs + 9500, nowMs + 20_000)).toEqual({ is: "mine" });
  });

  test("a server that starts releases the keys that its predecessor held, and no others", async () => {
    await using store = await (await databases.create()).open();
    const take = async (scope: string, owner: string) =>
      (await claimKey(store.db, { partnerId: "acme", scope, fingerprint: "f", owner }, nowMs, nowMs + 1000, nowMs + 9000)).is;
    const [answered, unanswered, others] = ["answered", "unanswered", "others"];
    for (const scope of [answered, unanswered]) await take(scope, "here/1");
    await take(others, "here-too/1");
    await storeResponse(store.db, { partnerId: "acme", scope: answered, fingerprint: "f", owner: "here/1" }, { status: 201, body: "" });
    await releaseKeysOf(store.db, "here");
    expect([await take(answered, "here/2"), await take(unanswered, "here/2"), await take(others, "here/2")]).toEqual([
      "done",
      "mine",
      "in_flight",
    ]);
  });
});

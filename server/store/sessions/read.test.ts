import { expect, test } from "vitest";
import { newId } from "@berth/contract";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { insertPartner } from "../store.suite.ts";
import { insertSessionRow, sessionRow } from "../testing/session-row.ts";
import { runningAmong } from "./read.ts";
import { SESSION_STATES } from "./session.ts";

const nowMs = Date.UTC(2030, 0, 1);

onBothEngines("reading sessions", (databases) => {
  test("runningAmong finds the sandboxes whose programs may run, among any number of ids", async () => {
    await using store = await (await databases.create()).open();
    await insertPartner(store, "acme");
    const rows = await Promise.all(SESSION_STATES.map((state) => insertSessionRow(store.db, sessionRow(nowMs, { state }))));
    const sandboxIds = [...Array.from({ length: 1200 }, () => newId("sbx", 1)), ...rows.map(({ sandbox_id }) => sandbox_id)];
    const found = await runningAmong(store.db, sandboxIds);
    const states = rows.filter(({ sandbox_id }) => found.has(sandbox_id)).map(({ state }) => state);
    expect(states.sort()).toEqual(["creating", "pausing", "rebuilding", "resuming", "running", "thawing"]);
    expect(found.size).toBe(6);
    expect(await runningAmong(store.db, [])).toEqual(new Set());
  });
});

import { beforeAll, expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { MINUTE } from "../../clock.ts";
import type { Store } from "../../store/open.ts";
import { insertPartner } from "../../store/partners/partners.ts";
import { deletePartnerRows } from "../../store/partners/delete-partner.ts";
import { lookAgainAtEnd, recordActivity } from "../../store/sessions/idle.ts";
import type { SessionRow } from "../../store/sessions/parse-session.ts";
import { purgeSessions } from "../../store/sessions/purge.ts";
import { setMissingTimeoutActions } from "../../store/sessions/rules.ts";
import { replaceSealedValues } from "../../store/sessions/sealed-values.ts";
import { SESSION_STATES } from "../../store/sessions/session.ts";
import { insertSessionRow, sessionRow } from "../../store/testing/session-row.ts";
import { outcomeOf, RULES, type BulkTrigger } from "./states.ts";

const NOW_MS = Date.UTC(2030, 0, 1);

// Each statement as its caller runs it, for all sessions that it could touch.
const STATEMENTS: Record<BulkTrigger, (store: Store, rows: SessionRow[]) => Promise<unknown>> = {
  active: async ({ db }, rows) => {
    for (const { id } of rows) await recordActivity(db, id, NOW_MS);
  },
  purge: ({ db }) => purgeSessions(db, { destroyedBeforeMs: NOW_MS }, 1000),
  delete_partner: ({ db }) => purgeSessions(db, { partnerId: "acme" }, 1000),
};

// Statements that write only facts, in whatever state a session is.
const FACTS: Record<string, (store: Store, rows: SessionRow[]) => Promise<unknown>> = {
  lookAgainAtEnd: async ({ db }, rows) => {
    for (const { id, idle_at } of rows) await lookAgainAtEnd(db, { id, idleAtMs: idle_at });
  },
  setMissingTimeoutActions: ({ db }) => setMissingTimeoutActions(db, "destroy"),
  replaceSealedValues: async ({ db }, rows) => {
    for (const row of rows)
      await replaceSealedValues(db, { ...row, sandboxId: row.sandbox_id }, { token: "next", env: "next", relays: "next" });
  },
};

onBothEngines("statements that write many sessions", (databases) => {
  let store: Store;
  beforeAll(async () => {
    store = await (await databases.create()).open();
    await insertPartner(store.db, { id: "acme", createdAt: NOW_MS });
    return () => store[Symbol.asyncDispose]();
  });

  // A row in every state, as far as a row can be: a partner's, with every time long past.
  async function insertAll(): Promise<SessionRow[]> {
    await store.db.deleteFrom("sessions").execute();
    const past = NOW_MS - 10 * MINUTE;
    const times = { expires_at: past, idle_timeout_ms: MINUTE, idle_at: past, idle_look_at: past - 1, paused_at: past, destroyed_at: past };
    for (const state of SESSION_STATES) await insertSessionRow(store.db, sessionRow(past, { state, token: "sealed", ...times }));
    return readAll();
  }

  const readAll = () => store.db.selectFrom("sessions").selectAll().orderBy("id").execute();

  test.each(Object.entries(STATEMENTS))("%s does to every state what the table says", async (trigger, run) => {
    const before = await insertAll();
    await run(store, before);
    const after = new Map((await readAll()).map((row) => [row.id, row]));
    for (const row of before) {
      const now = after.get(row.id);
      const outcome = outcomeOf(trigger as BulkTrigger, row.state);
      const updated = { ...row, idle_at: NOW_MS + MINUTE, idle_look_at: NOW_MS + MINUTE / 2 };
      const expected = { delete: undefined, ignore: row, update: updated }[outcome.do as "delete" | "ignore" | "update"];
      expect([row.state, outcome.do, now]).toEqual([row.state, expect.stringMatching(/^(delete|ignore|update)$/), expected]);
    }
  });

  test.each(Object.entries(FACTS))("%s writes facts and moves no session", async (_name, run) => {
    const placeOf = ({ id, state, generation }: SessionRow) => ({ id, state, generation });
    const before = await insertAll();
    await run(store, before);
    const after = await readAll();
    expect(after.map(placeOf)).toEqual(before.map(placeOf));
    expect(after).not.toEqual(before);
  });

  test("a partner with a session that is not destroyed keeps all its sessions", async () => {
    const before = await insertAll();
    await expect(deletePartnerRows(store.db, "acme", 1000)).rejects.toThrow("still has sessions");
    expect(await readAll()).toEqual(before);
  });
});

test("every bulk trigger of the table has its statement here", () => {
  const bulk = Object.entries(RULES).flatMap(([name, rule]) => ("isBulk" in rule ? [name] : []));
  expect(bulk.toSorted()).toEqual(Object.keys(STATEMENTS).toSorted());
});

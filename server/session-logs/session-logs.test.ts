import { expect, test } from "vitest";
import type { SandboxId } from "@berth/contract";
import { onBothEngines } from "../../tests/support/databases/stores.ts";
import { SECOND } from "../clock.ts";
import { silentLog } from "../log.ts";
import type { Store } from "../store/open.ts";
import { deletePartnerRows } from "../store/partners/delete-partner.ts";
import { insertPartner } from "../store/partners/partners.ts";
import { egressHostsOf, type EgressHost } from "../store/session-logs/egress-hosts.ts";
import { openingsOf } from "../store/session-logs/openings.ts";
import { purgeSessions } from "../store/sessions/purge.ts";
import { insertSessionRow, sessionRow } from "../store/testing/session-row.ts";
import { createTestClock } from "../testing/test-clock.ts";
import { createEgressLog } from "./egress-log.ts";
import { createOpeningLog } from "./opening-log.ts";
import { shortenAgent } from "./shorten-agent.ts";

const NOW = Date.UTC(2030, 0, 10);
const SITE = { driver: "process", host: "one" };
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

onBothEngines("the logs of sessions", (databases) => {
  async function addSession(store: Store) {
    await insertPartner(store.db, { id: "acme", createdAt: 0 }).catch(() => false);
    return insertSessionRow(store.db, sessionRow(NOW, { driver: SITE.driver, host: SITE.host }));
  }

  test("an opening is one row from its launch to the end of its last page, and a new server ends those of a dead one", async () => {
    const database = await databases.create();
    await using store = await database.open();
    const { id: sessionId } = await addSession(store);
    const clock = createTestClock(NOW);
    const log = createOpeningLog({ store, site: SITE, clock, log: silentLog });
    const openedAt = clock.now();
    log.add({ sessionId, openedAt, address: "192.0.2.1", userAgent: FIREFOX, role: null, name: "Ada Lovelace" });
    const [first, second] = [log.connect({ sessionId, openedAt }), log.connect({ sessionId, openedAt })];
    await log.flush();
    const opening = { openedAt, address: "192.0.2.1", agent: "Firefox 128 on Linux", role: null, name: "Ada Lovelace" };
    expect(await openingsOf(store.db, sessionId)).toMatchObject([{ ...opening, endedAt: null }]);

    await clock.advance(30 * SECOND);
    first[Symbol.dispose]();
    await log.flush();
    expect(await openingsOf(store.db, sessionId)).toMatchObject([{ endedAt: null }]);
    second[Symbol.dispose]();
    await log[Symbol.asyncDispose]();
    expect(await openingsOf(store.db, sessionId)).toMatchObject([{ ...opening, endedAt: NOW + 30 * SECOND }]);

    // The same page connects again, to a server that dies.
    const dying = createOpeningLog({ store, site: SITE, clock, log: silentLog });
    dying.connect({ sessionId, openedAt });
    await dying.flush();
    expect(await openingsOf(store.db, sessionId)).toMatchObject([{ endedAt: null }]);
    await clock.advance(10 * SECOND);
    const next = createOpeningLog({ store, site: SITE, clock, log: silentLog });
    await next[Symbol.asyncDispose]();
    expect(await openingsOf(store.db, sessionId)).toMatchObject([{ endedAt: NOW + 40 * SECOND }]);

    await store.db.updateTable("sessions").set({ state: "destroyed", destroyed_at: NOW }).execute();
    while (!(await deletePartnerRows(store.db, "acme", 2)));
    expect(await store.db.selectFrom("openings").selectAll().execute()).toEqual([]);
  });

  test("a session keeps its newest hundred openings and two hundred hosts, and both end with its row", async () => {
    const database = await databases.create();
    await using store = await database.open();
    const { id: sessionId, sandbox_id: sandboxId } = await addSession(store);
    const clock = createTestClock(NOW);
    await using openings = createOpeningLog({ store, site: SITE, clock, log: silentLog });
    for (let at = 0; at < 250; at++) {
      openings.add({ sessionId, openedAt: NOW + at, address: "192.0.2.1", userAgent: "curl/8", role: null, name: null });
      if (at % 50 === 0) await openings.flush();
    }
    await openings.flush();
    const kept = await openingsOf(store.db, sessionId);
    expect(kept).toHaveLength(100);
    expect(kept[0]).toMatchObject({ openedAt: NOW + 249, endedAt: NOW + 249, agent: "curl/8" });

    let hosts = new Map<SandboxId, EgressHost[]>();
    const takeHosts = () => {
      const taken = hosts;
      hosts = new Map();
      return taken;
    };
    await using egress = createEgressLog({ store, egress: { takeHosts }, clock, log: silentLog });
    const visit = (n: number): EgressHost => ({
      outcome: "allowed",
      host: `h${n}`,
      port: 443,
      rule: "public",
      connections: 1,
      sentBytes: 2,
      receivedBytes: 3,
      firstAt: NOW,
      lastAt: NOW + n,
    });
    for (const from of [0, 150]) {
      hosts.set(
        sandboxId,
        Array.from({ length: 160 }, (_, n) => visit(from + n)),
      );
      await egress.flush();
    }
    const stored = await egressHostsOf(store.db, sessionId);
    expect(stored).toHaveLength(201);
    expect(stored.find(({ host }) => host === "*")).toMatchObject({ connections: 110, sentBytes: 220, receivedBytes: 330, port: 0 });
    expect(stored.find(({ host }) => host === "h155")).toMatchObject({ connections: 2, sentBytes: 4, receivedBytes: 6 });

    await store.db.updateTable("sessions").set({ state: "destroyed", destroyed_at: NOW }).where("id", "=", sessionId).execute();
    await purgeSessions(store.db, { destroyedBeforeMs: NOW }, 10);
    expect([await openingsOf(store.db, sessionId), await egressHostsOf(store.db, sessionId)]).toEqual([[], []]);
  });
});

test("a user agent is shortened to the browser and its system", () => {
  const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36";
  const iphone =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1";
  expect([chrome, `${chrome} Edg/130.0`, iphone, "curl/8.1", undefined, "\u0001<b>".repeat(60)].map(shortenAgent)).toEqual([
    "Chrome 130 on Windows",
    "Edge 130 on Windows",
    "Safari 18 on iOS",
    "curl/8.1",
    "unknown",
    "<b>".repeat(20),
  ]);
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SandboxId } from "@berth/contract";
import { onBothEngines } from "../../tests/support/databases/stores.ts";
import { DAY, SECOND } from "../clock.ts";
import { silentLog } from "../log.ts";
import type { Store } from "../store/open.ts";
import { insertPartner } from "../store/partners/partners.ts";
import { parseSession } from "../store/sessions/parse-session.ts";
import type { PartnerSession } from "../store/sessions/session.ts";
import { insertSessionRow, sessionRow } from "../store/testing/session-row.ts";
import { readUsage } from "../store/usage/report.ts";
import { createTestClock } from "../testing/test-clock.ts";
import type { MeterReading } from "./sandbox-meter.ts";
import { createUsageSampler, type Traffic } from "./usage-sampler.ts";

const TODAY = Date.UTC(2030, 0, 10);
const SITE = { driver: "process", host: null };

onBothEngines("usage sampler", (databases) => {
  // An engine whose numbers the test sets.
  async function open(store: Store, sessions = 1) {
    const clock = createTestClock(TODAY);
    const stats = new Map<string, MeterReading>();
    let traffic = new Map<SandboxId, Traffic>();
    await insertPartner(store.db, { id: "acme", createdAt: 0 });
    const rows = [];
    for (let n = 0; n < sessions; n++) rows.push(await insertSessionRow(store.db, sessionRow(TODAY, { counted_from: TODAY })));
    const row = rows[0]!;
    const startServer = () =>
      createUsageSampler({
        store,
        meter: { read: async (id) => stats.get(id) ?? Promise.reject(new Error("gone")) },
        site: SITE,
        egress: {
          takeTraffic() {
            const taken = traffic;
            traffic = new Map();
            return taken;
          },
        },
        clock,
        log: silentLog,
      });
    return {
      clock,
      row,
      rows,
      session: parseSession(row) as PartnerSession,
      startServer,
      set: (cpuMs: number | null, memoryBytes: number, id = row.sandbox_id) =>
        stats.set(id, { cpuMs, reportedCpus: null, memoryBytes, pids: 1, diskBytes: null }),
      report: (cpuMs: number, reportedCpus: number) =>
        stats.set(row.sandbox_id, { cpuMs, reportedCpus, memoryBytes: null, pids: null, diskBytes: null }),
      send: (sentBytes: number) => traffic.set(row.sandbox_id, { sentBytes, receivedBytes: 1 }),
      usage: async () => {
        const query = { partnerId: "acme", fromDay: TODAY, toDay: TODAY + 2 * DAY, groups: [], nowMs: clock.now(), maxRows: 10 };
        return (await readUsage(store.db, query))[0]!;
      },
    };
  }

  test("processor time counts once over samples, a new server and a new start of the sandbox", async () => {
    await using store = await (await databases.create()).open();
    const { clock, session, set, usage, startServer } = await open(store);
    {
      await using server = startServer();
      set(1000, 100);
      await clock.advance(30 * SECOND);
      set(1500, 300);
      await server.sample();
      // The sandbox was measured a moment ago.
      await server.sample();
    }
    expect(await usage()).toMatchObject({ cpuMs: 1000, memory: { peak: 100, sum: 100, samples: 1 } });
    {
      await using server = startServer();
      await clock.advance(30 * SECOND);
      expect(await usage()).toMatchObject({ cpuMs: 1500, memory: { peak: 300, sum: 400, samples: 2 } });
      set(1600, 50);
      await server.measureLast(session);
      // It is started again and counts from zero, and ends once more before the next write.
      set(5000, 50);
      await server.measureLast(session);
    }
    expect((await usage()).cpuMs).toBe(1600 + 5000);
    await using _third = startServer();
    set(7000, 50);
    await clock.advance(30 * SECOND);
    expect((await usage()).cpuMs).toBe(1600 + 5000 + 7000);
  });

  test("a server that is killed while it writes a sample counts nothing twice, and nothing is lost", async () => {
    const database = await databases.create();
    await using store = await database.open();
    const { clock, set, usage, startServer } = await open(store);
    await using _server = startServer();
    set(1000, 100);
    await clock.advance(30 * SECOND);
    const script = join(import.meta.dirname, "testing/sample-and-hang.ts");
    const other = spawn(process.execPath, [script, database.file, database.url ?? "", "5000"], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(other, "exit");
    expect(String(await once(other.stdout, "data"))).toBe("written\n");
    other.kill("SIGKILL");
    await ended;
    expect(await usage()).toMatchObject({ cpuMs: 1000, memory: { peak: 100, samples: 1 } });
    set(6000, 200);
    await clock.advance(30 * SECOND);
    expect(await usage()).toMatchObject({ cpuMs: 6000, memory: { peak: 200, sum: 300, samples: 2 } });
  });

  test("of two servers of a cluster only one measures a sandbox, and both count what it sent", async () => {
    await using store = await (await databases.create()).open();
    const { clock, session, set, send, usage, startServer } = await open(store);
    await using one = startServer();
    await using two = startServer();
    set(null, 100);
    send(10);
    await clock.advance(30 * SECOND);
    send(5);
    await two.sample();
    await one.measureLast(session);
    await one.sample();
    expect(await usage()).toMatchObject({ cpuMs: 0, memory: { samples: 1 }, egressBytes: 15, ingressBytes: 2 });
  });

  test("a sandbox that reports its own processor time counts at most what its processors can do", async () => {
    await using store = await (await databases.create()).open();
    const { clock, session, report, usage, startServer } = await open(store);
    const most = 2 * 5 * 60 * SECOND;
    {
      await using server = startServer();
      report(Number.MAX_SAFE_INTEGER, 2);
      await clock.advance(30 * SECOND);
      expect((await usage()).cpuMs).toBe(most);
      // Smaller, as if it had been started again.
      report(Number.MAX_SAFE_INTEGER / 2, 2);
      await clock.advance(30 * SECOND);
      expect((await usage()).cpuMs).toBe(most + 60 * SECOND);
      report(Number.MAX_SAFE_INTEGER, 2);
      await clock.advance(10 * SECOND);
      await server.measureLast(session);
    }
    expect((await usage()).cpuMs).toBe(most + 60 * SECOND + 20 * SECOND);
  });

  test("a sandbox that does not answer does not keep others from being measured", async () => {
    await using store = await (await databases.create()).open();
    const { clock, rows, set, usage, startServer } = await open(store, 150);
    await using _server = startServer();
    for (const { sandbox_id } of rows.slice(1)) set(10, 1, sandbox_id);
    await clock.advance(30 * SECOND);
    expect(await usage()).toMatchObject({ cpuMs: 149 * 10, memory: { samples: 149 } });
  });
});

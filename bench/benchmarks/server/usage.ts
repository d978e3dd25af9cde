import { newId } from "@berth/contract";
import { DAY } from "../../../server/clock.ts";
import { addUsage, dayOf } from "../../../server/store/usage/days.ts";
import type { Berth } from "../../../tests/support/servers/berth.ts";
import type { Row } from "../../report/report.ts";
import type { Benchmark } from "../../support/benchmark.ts";
import { openPostgres } from "../../support/postgres.ts";
import { openServer } from "../../support/server.ts";
import { openDatabase } from "../../support/session-rows.ts";

const SESSIONS = 10_000;
const DAYS = 30;
const GROUPS = ["", "day", "user", "template", "session"];

export const benchmark: Benchmark = {
  summary: `usage reports of ${SESSIONS} sessions in ${DAYS} days, on SQLite and PostgreSQL`,
  async run(run) {
    const plain = { BERTH_DRIVER: "process" };
    const engines = [
      { name: "SQLite", server: await openServer(run, { poolSize: 0, env: plain }) },
      { name: "PostgreSQL", server: await openServer(run, { poolSize: 0, env: { ...plain, ...(await openPostgres(run)) } }) },
    ];
    for (const { name, server } of engines) {
      run.progress(`${SESSIONS * DAYS} rows on ${name}`);
      await addDays(server.berth);
    }
    const values = new Map<string, number[]>();
    for (let round = -1; round < run.rounds(5, 1) && !run.isOver(); round++)
      for (const groupBy of GROUPS)
        for (const { name, server } of engines) {
          const startedMs = performance.now();
          await server.caller.call("GET", `/api/b2b/usage${groupBy && `?groupBy=${groupBy}`}`, 200);
          const what = `${name}, ${groupBy === "" ? "one row" : `by ${groupBy}`}`;
          if (round >= 0) values.set(what, [...(values.get(what) ?? []), performance.now() - startedMs]);
        }
    const rows: Row[] = [...values].map(([what, times]) => ({
      what,
      unit: "ms",
      values: times,
      ...(what.startsWith("PostgreSQL") && { beside: what.replace("PostgreSQL", "SQLite") }),
    }));
    return [{ title: `GET /api/b2b/usage, ${SESSIONS} sessions × ${DAYS} days`, rows }];
  },
};

async function addDays(berth: Berth): Promise<void> {
  await using store = await openDatabase(berth);
  const today = dayOf(Date.now());
  const sessions = Array.from({ length: SESSIONS }, (_, n) => ({
    session_id: newId("ses", today + n),
    partner_id: "demo",
    external_user_id: `user-${n % 5000}`,
    template: `template-${n % 4}`,
  }));
  for (let back = 0; back < DAYS; back++) {
    const amounts = {
      day: today - back * DAY,
      running_ms: 3_600_000,
      cpu_ms: 60_000,
      memory_peak: 1e9,
      memory_sum: 1e11,
      memory_samples: 120,
    };
    await store.transaction((tx) =>
      addUsage(
        tx,
        sessions.map((owner) => ({ ...owner, ...amounts })),
      ),
    );
  }
}

// `node bench/sessions.ts` measures a partner's calls over HTTP to the real server with real sandboxes, and compares them with raw
// `runc` and a bare node:http server in the same run. It makes about 300 sandboxes and takes a minute or two.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createHash } from "node:crypto";
import { startBerth } from "../tests/support/servers/berth.ts";
import { setTimeout as delay } from "node:timers/promises";
import { median, percentile, times } from "./median.ts";

const show = (name: string, values: number[]) =>
  console.log(
    `${name.padEnd(44)} p50 ${percentile(values, 0.5).toFixed(1).padStart(7)} ms   p99 ${percentile(values, 0.99).toFixed(1).padStart(7)} ms   n=${values.length}`,
  );

await cold();
await warm();
await burst();

async function cold(): Promise<void> {
  await using berth = await startBerth({ BERTH_POOL_SIZE: "0", BERTH_LOG_LEVEL: "error" });
  const { api } = berth;
  const made: string[] = [];
  show(
    "create (cold) -> first command's output",
    await times(20, async () => {
      const session = await api.create({ autoStartAgent: false });
      made.push(session.sessionId);
      await api.exec(session.sandboxId, "echo hi");
    }),
  );
  const id = made[0]!;
  const pauses: number[] = [];
  const resumes: number[] = [];
  for (let i = 0; i < 30; i++) {
    pauses.push(await median(1, async () => void (await api.call("POST", `/api/b2b/sessions/${id}/pause`))));
    resumes.push(await median(1, async () => void (await api.call("POST", `/api/b2b/sessions/${id}/resume`, { autoStartAgent: false }))));
  }
  show("pause", pauses);
  show("resume (hot)", resumes);
  show("GET session", await times(1000, async () => void (await api.call("GET", `/api/b2b/sessions/${id}`))));
  show("GET of a bare node:http server with the same check", await bareServer(berth.key));
  show("DELETE", await times(made.length, async () => void (await api.call("DELETE", `/api/b2b/sessions/${made.pop()!}`))));
}

async function warm(): Promise<void> {
  await using berth = await startBerth({ BERTH_POOL_SIZE: "25", BERTH_LOG_LEVEL: "error" });
  await poolOf(berth, 25);
  show(
    "create (warm) -> first command's output",
    await times(20, async () => {
      const session = await berth.api.create({ autoStartAgent: false });
      await berth.api.exec(session.sandboxId, "echo hi");
    }),
  );
}

async function burst(): Promise<void> {
  await using berth = await startBerth({ BERTH_POOL_SIZE: "100", BERTH_LOG_LEVEL: "error" });
  await poolOf(berth, 100);
  const taken = await Promise.all(
    Array.from({ length: 100 }, () => median(1, async () => void (await berth.api.create({ autoStartAgent: false })))),
  );
  show("100 creates at once (warm)", taken);
}

// Waits until the metrics show a full pool.
async function poolOf(berth: Awaited<ReturnType<typeof startBerth>>, size: number): Promise<void> {
  const { openStore } = await import("../server/store/open.ts");
  const { silentLog } = await import("../server/log.ts");
  await using store = await openStore({ file: `${berth.dataDir}/berth.db`, log: silentLog, migrate: false });
  for (;;) {
    const rows = await store.db.selectFrom("sessions").select("id").where("state", "=", "warm").execute();
    if (rows.length >= size) return;
    await delay(200);
  }
}

async function bareServer(key: string): Promise<number[]> {
  const hash = createHash("sha256").update(key).digest("hex");
  const server = createServer((request, response) => {
    const given = (request.headers.authorization ?? "").slice(7);
    const known = createHash("sha256").update(given).digest("hex") === hash;
    response.writeHead(known ? 200 : 401, { "content-type": "application/json" }).end('{"status":"running"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const taken = await times(1000, async () => void (await (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).text()));
  await new Promise((resolve) => server.close(resolve).closeAllConnections());
  return taken;
}

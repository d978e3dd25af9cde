// `node sample-and-hang.ts {file} {url or ""} {cpuMs}`: samples the only session as a server does, says so, and never commits.
import { flushCompileCache } from "node:module";
import { SECOND } from "../../clock.ts";
import { silentLog } from "../../log.ts";
import { openStore } from "../../store/open.ts";
import { addSamples, sessionsToSample } from "../../store/usage/counters.ts";

// Node stores compiled code at the end of a process, which this one does not reach.
flushCompileCache();

const [file = "", url = "", cpuMs] = process.argv.slice(2);
const store = await openStore({ file, url: url === "" ? null : url, log: silentLog });
const site = { driver: "process", host: null };
const page = await sessionsToSample(store.db, site, { after: { partnerId: "", sessionId: "" }, limit: 1, sampledAfterMs: Infinity });
const { owner } = page.sessions[0]!;
const sample = { owner, atMs: Date.UTC(2030, 0, 10) + 60 * SECOND, cpuMs: Number(cpuMs), reportedCpus: null, memoryBytes: 7, diskBytes: 7 };
await store.transaction(async (tx) => {
  await addSamples(tx, [sample]);
  process.stdout.write("written\n");
  // Keeps the process alive until it is killed.
  await new Promise(() => setInterval(() => {}, 60_000));
});

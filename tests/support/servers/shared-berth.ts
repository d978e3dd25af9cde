import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { systemClock } from "../../../server/clock.ts";
import { issueKey } from "../../../server/keys/keys.ts";
import { createPartner } from "../../../server/keys/partners.ts";
import { silentLog } from "../../../server/log.ts";
import { openStore } from "../../../server/store/open.ts";
import { checkAfterFile } from "../run/after-file.ts";
import { createApi } from "./api.ts";
import { isReady, prepareBerth, type Berth } from "./berth.ts";

// A partner of the server that test files share. Everything that belongs to the partner is the file's own: sessions, settings, keys,
// webhooks, events, usage. A file that ends or restarts its server, reads its output, or depends on all of its sessions starts one with
// `startBerth`.
export interface SharedBerth extends Pick<Berth, "url" | "key" | "dataDir" | "env" | "api"> {
  partnerId: string;
}

// Some of the files need these settings, and they are harmless to the others.
const SETTINGS = { BERTH_WEBHOOK_ALLOW_PRIVATE: "1", BERTH_TEMPLATES: join(import.meta.dirname, "shared-templates.yaml") };

// Runs the server in its data folder, and ends it when our process ends or the supervisor gets SIGTERM. When the server has ended, its
// sandboxes are destroyed and its folder is deleted. Most often there are no sandboxes, so that nothing has to be started for them. The
// shell must not write to a pipe that our process no longer reads. SIGTERM ends only the first of the two waits.
const SUPERVISOR = `
cleaner=$1; node=$2
shift
exec 3<&0
trap 'kill -KILL $server' TERM
"$@" 3<&- & server=$!
exec > /dev/null 2>&1
{ read -r _; kill -TERM $$; } <&3 & watcher=$!
wait $server; wait $server
trap "" TERM
kill -KILL $watcher
[ -d sandboxes ] && [ -z "$(ls -A sandboxes)" ] || "$node" "$cleaner"
rm -rf "$PWD"`;
// tests/support/run/leaks.ts knows this name.
const NAME = "berth-shared-server";
const CLEANER = join(import.meta.dirname, "destroy-sandboxes.ts");
// Sessions that are ending may take this long on a busy machine.
const LEAVE_MS = 20_000;

let shared: Promise<Berth> | undefined;
// The server that the current file uses.
let used: Berth | undefined;

// The server of all test files of this worker that call this. A server of its own would cost each of them more than a second of processor
// time. It ends with the worker. A file that leaves a session, a volume or a snapshot on it fails, and the next file gets a new server.
export async function shareBerth(): Promise<SharedBerth> {
  const server = (used = await findRunning());
  const partnerId = `file-${randomBytes(4).toString("hex")}`;
  const { url, dataDir, env } = server;
  await using store = await open(server);
  await createPartner(store.db, systemClock, partnerId);
  const { key } = await issueKey(store.db, systemClock, partnerId);
  return { url, dataDir, env, key, partnerId, api: createApi(url, key) };
}

async function findRunning(): Promise<Berth> {
  const server = await (shared ??= start());
  if (await isReady(server.url)) return server;
  await server.stop();
  return await (shared ??= start());
}

async function start(): Promise<Berth> {
  const server = await prepareBerth(SETTINGS, { supervisor: ["sh", "-c", SUPERVISOR, NAME, CLEANER] });
  const forget = () => (shared = undefined);
  await server.start().catch(async (error: unknown) => {
    forget();
    await server.stop();
    throw error;
  });
  void server.died().then(forget);
  return server;
}

checkAfterFile(async () => {
  if (!used) return;
  const server = used;
  used = undefined;
  try {
    expect(await isReady(server.url), `the shared server has ended:\n${server.output().slice(-4000)}`).toBe(true);
    await vi.waitFor(async () => expect(await leftOn(server), "left on the shared server").toEqual([]), { timeout: LEAVE_MS });
  } catch (error) {
    await server.stop();
    throw error;
  }
});

// The sessions, and the files of sandboxes, snapshots and volumes that exist on the server.
export async function leftOn(server: Pick<Berth, "dataDir">): Promise<string[]> {
  const files = ["sandboxes", "snapshots", "volumes"].flatMap((folder) => entriesOf(join(server.dataDir, folder)));
  if (files.length > 0) return files;
  await using store = await open(server);
  const sessions = await store.db.selectFrom("sessions").select(["id", "state"]).where("state", "!=", "destroyed").execute();
  return sessions.map(({ id, state }) => `${id} ${state}`);
}

const open = ({ dataDir }: Pick<Berth, "dataDir">) => openStore({ file: join(dataDir, "berth.db"), log: silentLog });

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

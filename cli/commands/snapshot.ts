import { Command } from "commander";
import { isSnapshotId, type SnapshotId } from "@berth/contract";
import { getPartner } from "@berth/server/keys/partners.ts";
import { beginDiscard } from "@berth/server/sessions/snapshots/snapshot-events.ts";
import type { Db } from "@berth/server/store/schema.ts";
import { findSnapshot, listSnapshots, type StoredSnapshot } from "@berth/server/store/snapshots/read.ts";
import { adoptSnapshot } from "@berth/server/store/snapshots/write.ts";
import { parseCount } from "../arguments.ts";
import { withStore } from "../context.ts";
import { clean, cut, isoOf, noteMore, orDash, relative, show, table } from "../terminal/output.ts";

interface Options {
  json?: boolean;
  partner?: string;
  limit: number;
}

// The owner of entries in the audit log that belong to no partner.
const OPERATOR = "operator";

export const command = build();

function build(): Command {
  const group = new Command();
  group
    .command("list")
    .description("list snapshots, newest first")
    .option("--partner <id>", "only snapshots of this partner")
    .option("--limit <n>", "maximum number of snapshots", parseCount, 50)
    .option("--json", "print JSON")
    .action(list);
  group
    .command("adopt <id>")
    .description("make a partner's snapshot the operator's, so that templates may name it")
    .option("--json", "print JSON")
    .action(adopt);
  group.command("delete <id>").description("delete a snapshot and its files").option("--json", "print JSON").action(remove);
  return group;
}

async function list(options: Options): Promise<void> {
  await withStore(async ({ store }) => {
    const { partner, limit } = options;
    if (partner !== undefined) await getPartner(store.db, partner);
    const filter = { ...(partner !== undefined && { partnerId: partner }), limit: limit + 1 };
    const { rows, hasMore } = cut(await listSnapshots(store.db, filter), limit);
    show(options, rows.map(snapshotJson), () =>
      table(
        rows,
        [
          { name: "snapshot", value: ({ id }) => id },
          { name: "partner", value: ({ partnerId }) => orDash(partnerId) },
          { name: "name", value: ({ name }) => clean(name, 32) },
          { name: "session", value: ({ sessionId }) => sessionId },
          { name: "size", value: ({ bytes }) => orDash(bytes === null ? null : `${Math.ceil(bytes / 2 ** 20)} MiB`) },
          { name: "status", value: ({ state }) => state },
          { name: "created", value: ({ createdAtMs }) => relative(createdAtMs) },
        ],
        "No snapshots.",
      ),
    );
    if (hasMore) noteMore(`There are more than these ${limit} snapshots. Raise --limit, or use --partner.`);
  });
}

async function adopt(id: string, options: Options): Promise<void> {
  await withStore(async ({ store, change }) => {
    const snapshot = await getSnapshot(store.db, id);
    const isAdopted = await change(async (tx, note) => {
      await note("snapshot.adopt", snapshot.partnerId ?? OPERATOR, snapshot.id);
      return adoptSnapshot(tx, snapshot.id);
    });
    if (!isAdopted) throw new Error(`The snapshot ${id} is not ready.`);
    show(options, { ...snapshotJson(snapshot), partnerId: null }, () => `The snapshot ${id} is the operator's. Templates may name it.\n`);
  });
}

// A server deletes the files, now or at its next start.
async function remove(id: string, options: Options): Promise<void> {
  await withStore(async ({ store, change, clock }) => {
    const snapshot = await getSnapshot(store.db, id);
    if (snapshot.state === "creating") throw new Error(`The snapshot ${id} is still being created.`);
    await change(async (tx, note) => {
      await note("snapshot.delete", snapshot.partnerId ?? OPERATOR, snapshot.id);
      await beginDiscard(tx, snapshot, { owner: "cli", untilMs: 0 }, clock.now());
    });
    show(options, snapshotJson(snapshot), () => `The snapshot ${id} is deleted. A running server removes its files within ten seconds.\n`);
  });
}

async function getSnapshot(db: Db, id: string): Promise<StoredSnapshot> {
  const snapshot = isSnapshotId(id) ? await findSnapshot(db, id satisfies SnapshotId) : null;
  if (!snapshot || snapshot.purpose === "fork" || snapshot.state === "deleting")
    throw new Error(`There is no snapshot ${id}. \`berth snapshot list\` shows them.`);
  return snapshot;
}

const snapshotJson = (snapshot: StoredSnapshot) => ({
  snapshotId: snapshot.id,
  partnerId: snapshot.partnerId,
  name: snapshot.name,
  status: snapshot.state,
  sessionId: snapshot.sessionId,
  template: snapshot.template,
  bytes: snapshot.bytes,
  driver: snapshot.site.driver,
  host: snapshot.site.host,
  createdAt: isoOf(snapshot.createdAtMs),
});

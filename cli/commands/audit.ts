import { Command } from "commander";
import { listAudit, type StoredAuditEntry } from "@berth/server/store/partners/audit.ts";
import { parseCount } from "../arguments.ts";
import { withStore } from "../context.ts";
import { clean, cut, isoOf, noteMore, orDash, show, table } from "../terminal/output.ts";

interface Options {
  json?: boolean;
  partner?: string;
  target?: string;
  limit: number;
}

export const command = build();

function build(): Command {
  return new Command()
    .option("--partner <id>", "only entries of this partner")
    .option("--target <id>", "only entries about this session, key or webhook")
    .option("--limit <n>", "maximum number of entries", parseCount, 50)
    .option("--json", "print JSON")
    .action(audit);
}

async function audit(options: Options): Promise<void> {
  await withStore(async ({ store }) => {
    const { partner, target, limit } = options;
    const { rows: entries, hasMore } = cut(await listAudit(store.db, { partnerId: partner, target, limit: limit + 1 }), limit);
    show(options, entries.map(auditJson), () =>
      table(
        entries,
        [
          { name: "time", value: (entry) => isoOf(entry.at)?.slice(0, 19).replace("T", " ") ?? "" },
          { name: "partner", value: (entry) => entry.partnerId },
          { name: "who", value: (entry) => entry.actor },
          { name: "what", value: (entry) => entry.action },
          { name: "which", value: (entry) => clean(entry.target) },
          { name: "from", value: (entry) => orDash(entry.ip) },
          { name: "request", value: (entry) => orDash(entry.requestId) },
        ],
        "No entries.",
      ),
    );
    if (hasMore) noteMore(`There are more than these ${limit} entries. Raise --limit, or use --partner or --target.`);
  });
}

const auditJson = (entry: StoredAuditEntry) => ({ ...entry, at: isoOf(entry.at) });

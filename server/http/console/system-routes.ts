import type { Template } from "@berth/contract";
import type { ConsoleAuditEntry, ConsoleFinding, ConsoleList, ConsoleTemplate, ConsoleTemplateCheck } from "@berth/contract/console.ts";
import { describePolicy } from "../../egress-hosts.ts";
import { countWarm } from "../../store/console/counts.ts";
import type { Store } from "../../store/open.ts";
import { listAudit } from "../../store/partners/audit.ts";
import type { Templates } from "../../templates.ts";
import { toConsoleAudit } from "./audit-entries.ts";
import type { ConsoleRoute } from "./console-api.ts";
import { checkTemplate, parseForm } from "./template-check.ts";

export interface SystemRouteDeps {
  store: Store;
  templates: Pick<Templates, "get" | "keys">;
  // How many warm sandboxes of each template the pool holds when it is full.
  poolTargets(): ReadonlyMap<string, number>;
  // The state of an image, for people; null if only the engine knows.
  imageState(image: string): string | null;
  // The checks of `berth doctor`.
  examine(): Promise<(Omit<ConsoleFinding, "cure"> & { cure?: string | undefined })[]>;
}

const PAGE = 100;

// The templates and the health of the installation, for its operator, and the audit log.
export function systemRoutes({ store, templates, poolTargets, imageState, examine }: SystemRouteDeps): ConsoleRoute[] {
  let examining: ReturnType<typeof examine> | undefined;
  return [
    {
      method: "GET",
      path: "/templates",
      operatorOnly: true,
      async handle(): Promise<ConsoleList<ConsoleTemplate>> {
        const warm = await countWarm(store.db);
        const all = [...templates.keys()].flatMap((name) => templates.get(name) ?? []);
        const poolOf = (name: string) => ({ warm: warm.get(name) ?? 0, target: poolTargets().get(name) ?? 0 });
        return {
          data: all.map((template) => ({ ...toConsoleTemplate(template, imageState), pool: poolOf(template.name) })),
          nextCursor: null,
        };
      },
    },
    {
      method: "POST",
      path: "/templates/check",
      operatorOnly: true,
      handle: (_access, request): ConsoleTemplateCheck => checkTemplate(parseForm(request), templates),
    },
    {
      method: "GET",
      path: "/health",
      operatorOnly: true,
      // The checks start programs, so there is one run at a time.
      async handle(): Promise<ConsoleList<ConsoleFinding>> {
        examining ??= examine().finally(() => (examining = undefined));
        return { data: (await examining).map((finding) => ({ ...finding, cure: finding.cure ?? null })), nextCursor: null };
      },
    },
    {
      method: "GET",
      path: "/audit",
      async handle({ viewer, partnerId }, request): Promise<ConsoleList<ConsoleAuditEntry>> {
        const { cursor } = request.query as { cursor?: string | string[] };
        const beforeSeq = typeof cursor === "string" && /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined;
        const scope = { ...(partnerId !== null && { partnerId }), ...(beforeSeq !== undefined && { beforeSeq }) };
        const entries = await listAudit(store.db, { ...scope, limit: PAGE + 1 });
        const page = entries.slice(0, PAGE);
        const data = await toConsoleAudit(store.db, viewer, page);
        return { data, nextCursor: entries.length > PAGE ? String(page.at(-1)!.seq) : null };
      },
    },
  ];
}

// Leaves out the environment and the paths of the machine.
const toConsoleTemplate = (template: Template, imageState: SystemRouteDeps["imageState"]): Omit<ConsoleTemplate, "pool"> => ({
  name: template.name,
  description: template.description ?? "",
  image: template.image ?? null,
  imageState: template.image === undefined ? null : imageState(template.image),
  cpus: template.cpus,
  memoryMb: template.memoryMb,
  diskMb: template.diskMb,
  processes: template.pids,
  egress: describePolicy(template.egress),
  agent: template.agent?.command ?? null,
});

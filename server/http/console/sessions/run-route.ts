import type { FieldFault } from "@berth/contract";
import type { ConsoleList, ConsoleRun } from "@berth/contract/console.ts";
import type { Store } from "../../../store/open.ts";
import { listRuns } from "../../../store/runs/read.ts";
import type { ListedRun } from "../../../store/runs/run.ts";
import { requireNoFaults } from "../../requests/field-faults.ts";
import { single, toPage, type Query } from "../../session-format/list-query.ts";
import { parseRunQuery, toRunSummary } from "../../session-format/run-view.ts";
import type { ConsoleRoute } from "../console-api.ts";

// The runs of a session, of a user, of a partner, or all.
export const runRoute = ({ store }: { store: Store }): ConsoleRoute => ({
  method: "GET",
  path: "/runs",
  async handle({ partnerId }, request): Promise<ConsoleList<ConsoleRun>> {
    const query = request.query as Query;
    const { limit, ...filter } = parseRunQuery(query);
    const faults: FieldFault[] = [];
    const read = (name: string) => single(query, name, faults)?.replaceAll("\0", "\uFFFD") || undefined;
    const [sessionId, externalUserId] = [read("sessionId"), read("user")];
    requireNoFaults(faults);
    const found = await listRuns(store.db, {
      ...filter,
      ...(partnerId !== null && { partnerId }),
      ...(sessionId !== undefined && { sessionId }),
      ...(externalUserId !== undefined && { externalUserId }),
      limit: limit + 1,
    });
    return toPage(found, limit, toConsoleRun);
  },
});

const toConsoleRun = (run: ListedRun): ConsoleRun => ({
  ...toRunSummary(run),
  partnerId: run.partnerId,
  externalUserId: run.externalUserId,
});

import type { CompiledQuery, KyselyPlugin } from "kysely";
import { currentWork, markWork, type LoopWork } from "../../event-loop/loop-work.ts";

const workOfQuery = new WeakMap<CompiledQuery["queryId"], LoopWork>();

// Attributes event-loop time to the caller of a query: remembers which work issued it, and marks that work when the result
// arrives.
export const queryWorkPlugin: KyselyPlugin = {
  transformQuery({ node, queryId }) {
    attributeQuery(queryId);
    return node;
  },
  async transformResult({ result, queryId }) {
    resumeQueryWork({ queryId });
    return result;
  },
};

// A query that is not compiled again does not pass the plugin.
export function attributeQuery(queryId: CompiledQuery["queryId"]): void {
  workOfQuery.set(queryId, currentWork());
}

// SQLite runs on our thread, possibly after other queries: from here on, time counts for this query's caller.
export function resumeQueryWork({ queryId }: Pick<CompiledQuery, "queryId">): void {
  const work = workOfQuery.get(queryId);
  if (work) markWork(work);
}

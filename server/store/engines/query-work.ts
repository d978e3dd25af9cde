import type { CompiledQuery, KyselyPlugin } from "kysely";
import { currentWork, markWork, type LoopWork } from "../../event-loop/loop-work.ts";

const works = new WeakMap<CompiledQuery["queryId"], LoopWork>();

// Remembers which work of the event loop asked a question, and marks it again when that is answered.
export const queryWorkPlugin: KyselyPlugin = {
  transformQuery({ node, queryId }) {
    works.set(queryId, currentWork());
    return node;
  },
  async transformResult({ result, queryId }) {
    resumeQueryWork({ queryId });
    return result;
  },
};

// SQLite answers on our thread, perhaps after others: from here on the time is the asker's.
export function resumeQueryWork({ queryId }: Pick<CompiledQuery, "queryId">): void {
  const work = works.get(queryId);
  if (work) markWork(work);
}

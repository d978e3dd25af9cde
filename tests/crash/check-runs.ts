import type { Store } from "../../server/store/open.ts";
import type { Entry } from "./ledger.ts";

// Every run must exist once and end, and its end must be one event. Also those of sessions that were destroyed, and those whose start got
// no response.
export async function findRunFaults(store: Store, entries: Entry[]): Promise<string[]> {
  const rows = await store.db.selectFrom("runs").select(["id", "session_id", "status", "ended_at", "summary"]).execute();
  const events = await store.db.selectFrom("events").select("data").where("type", "=", "run.finished").execute();
  const finished = events.map(({ data }) => (JSON.parse(data) as { runId: string }).runId);
  const prompts = rows.map(({ summary }) => (JSON.parse(summary) as { prompt: string }).prompt);
  const twice = prompts.filter((prompt, index) => prompts.indexOf(prompt) !== index).map((prompt) => `the run ${prompt} exists twice`);
  const lost = entries.flatMap(({ runs }) => runs.filter((id) => !rows.some((row) => row.id === id)).map((id) => `the run ${id} is lost`));
  const wrong = rows.flatMap(({ id, session_id, status, ended_at }) => {
    const times = finished.filter((one) => one === id).length;
    return times === 1 && ended_at !== null ? [] : [`${session_id}: the run ${id} is ${status}, and its end was reported ${times} times`];
  });
  return [...twice, ...lost, ...wrong];
}

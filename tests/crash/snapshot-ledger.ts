import type { Snapshot } from "@berth/contract";
import type { Api } from "../support/servers/api.ts";
import type { Entry } from "./ledger.ts";

// The snapshots that the partner knows of, which a crash must not contradict.
export interface SnapshotLedger {
  // Takes a snapshot of this session, or deletes an earlier snapshot.
  act(api: Api, session: Entry): Promise<void>;
  // Reports snapshots that were acknowledged and are gone, or that were deleted and are there.
  check(api: Api): Promise<string[]>;
}

// `unknown`: a deletion was not answered.
type Fate = "there" | "unknown" | "gone";

const MAX_KNOWN = 3;

export function createSnapshotLedger(random: () => number): SnapshotLedger {
  const fates = new Map<string, Fate>();
  const known = () => [...fates].filter(([, fate]) => fate === "there").map(([id]) => id);

  async function take(api: Api, { sessionId }: Entry): Promise<void> {
    const { status, body } = await api.call("POST", `/api/b2b/sessions/${sessionId}/snapshots`);
    if (status !== 201) throw new Error(`the snapshot of ${sessionId} answered ${status}: ${JSON.stringify(body)}`);
    fates.set((body as Snapshot).id, "there");
  }

  async function remove(api: Api, id: string): Promise<void> {
    fates.set(id, "unknown");
    const { status, body } = await api.call("DELETE", `/api/b2b/snapshots/${id}`);
    if (status !== 200) throw new Error(`the deletion of ${id} answered ${status}: ${JSON.stringify(body)}`);
    fates.set(id, "gone");
  }

  return {
    async act(api, session) {
      const [oldest] = known();
      if (oldest !== undefined && (known().length >= MAX_KNOWN || random() < 0.4)) return remove(api, oldest);
      return take(api, session);
    },
    async check(api) {
      const faults: string[] = [];
      for (const [id, fate] of fates) {
        const { status } = await api.call("GET", `/api/b2b/snapshots/${id}`);
        if (fate !== "unknown" && status !== (fate === "there" ? 200 : 404)) faults.push(`${id} is ${fate}, and GET answers ${status}`);
        fates.set(id, status === 200 ? "there" : "gone");
      }
      return faults;
    },
  };
}

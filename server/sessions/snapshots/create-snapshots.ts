import { setTimeout as delay } from "node:timers/promises";
import { AppError, isSnapshotId, type SnapshotId } from "@berth/contract";
import { holdPoint } from "../../faults/hold-points.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { isAtSite, type Site, type PartnerSession } from "../../store/sessions/session.ts";
import { findSnapshot, listSnapshots, type StoredSnapshot } from "../../store/snapshots/read.ts";
import { findOwnSession } from "../find-session.ts";
import type { ServerDirectory } from "../server-directory.ts";
import type { FilesFrom, SessionFiles, Snapshots } from "./snapshots.ts";
import type { SnapshotWork } from "./snapshot-work.ts";

export interface SnapshotsDeps {
  store: Store;
  work: SnapshotWork;
  site: Site;
  servers: Pick<ServerDirectory, "elsewhere">;
  onEvent: Snapshots["onEvent"];
  log: Log;
}

const POLL_MS = 25;
const STEP_WAIT_MS = 30_000;

export function createSnapshots({ store, work, site, servers, onEvent, log }: SnapshotsDeps): Snapshots {
  async function findOwn(partnerId: string, id: string): Promise<StoredSnapshot> {
    const snapshot = await findSnapshot(store.db, isSnapshotId(id) ? id : UNUSED_ID);
    const isVisible = snapshot?.partnerId === partnerId && snapshot.purpose === "keep" && snapshot.state !== "deleting";
    if (!isVisible) throw new AppError("snapshot_not_found");
    return snapshot;
  }

  async function atSite<Found extends { site: Site }>(found: Found): Promise<Found> {
    if (!isAtSite(found, site)) throw await servers.elsewhere(found.site);
    return found;
  }

  async function findLive(partnerId: string, id: string): Promise<PartnerSession> {
    const session = await findOwnSession(store.db, partnerId, id);
    if (session.state === "destroyed" || session.state === "destroying") throw new AppError("session_not_found");
    return session;
  }

  // Waits for the end of a step.
  async function findCopyable(partnerId: string, id: string): Promise<PartnerSession> {
    for (const endMs = performance.now() + STEP_WAIT_MS; performance.now() < endMs; await delay(POLL_MS)) {
      const session = await atSite(await findLive(partnerId, id));
      if (session.state === "running" || session.state === "paused") return session;
    }
    throw new AppError("session_busy", { retryAfterSeconds: 1 });
  }

  async function findReady(partnerId: string, id: string): Promise<StoredSnapshot> {
    const snapshot = await atSite(await findOwn(partnerId, id));
    if (snapshot.state !== "ready") throw new AppError("snapshot_busy");
    return snapshot;
  }

  const withFiles: Snapshots["withFiles"] = async (partnerId, from, act) => {
    if ("snapshotId" in from) {
      const snapshot = await findReady(partnerId, from.snapshotId);
      await holdPoint(snapshot.id, "fork.begun");
      return act(filesOf(snapshot));
    }
    const session = await findCopyable(partnerId, from.sessionId);
    const copy = await work.make(session, { purpose: "fork", name: "" });
    try {
      return await act({ ...filesOf(copy), sessionId: session.id });
    } finally {
      await work
        .discard(copy)
        .catch((error: unknown) => log.warn("snapshot.discard_failed", { snapshotId: copy.id, error: String(error) }));
    }
  };

  async function templateOf(partnerId: string, from: FilesFrom): Promise<string | null> {
    try {
      const source = await ("snapshotId" in from ? findOwn(partnerId, from.snapshotId) : findLive(partnerId, from.sessionId));
      return source.template;
    } catch {
      return null;
    }
  }

  return {
    async take(partnerId, sessionId, options) {
      return work.make(await findCopyable(partnerId, sessionId), { purpose: "keep", ...options });
    },
    get: findOwn,
    list: (partnerId, filter) => listSnapshots(store.db, { ...filter, partnerId }),
    async remove(partnerId, id, record) {
      const snapshot = await findReady(partnerId, id);
      // Another call may delete it at the same time.
      if (!(await work.discard(snapshot, record))) throw new AppError("snapshot_not_found");
    },
    templateOf,
    withFiles,
    onEvent,
  };
}

const filesOf = ({ id, image }: StoredSnapshot): SessionFiles => ({ snapshotId: id, ...(image !== null && { image }) });

// A malformed id is looked up too, so that every 404 takes the same time.
const UNUSED_ID: SnapshotId = `snp_${"0".repeat(26)}`;

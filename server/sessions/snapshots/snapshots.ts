import type { SessionId, SnapshotId } from "@berth/contract";
import type { SnapshotFilter, StoredSnapshot } from "../../store/snapshots/read.ts";
import type { Db } from "../../store/schema.ts";

export type { StoredSnapshot } from "../../store/snapshots/read.ts";

// Copies of the files of sessions. Every method is scoped to a partner: another partner's session or snapshot is not found.
export interface Snapshots {
  // Copies the files of a running or paused session. `record` runs in the transaction that completes the snapshot.
  take(partnerId: string, sessionId: string, options: { name: string; record?: SnapshotRecorder }): Promise<StoredSnapshot>;
  get(partnerId: string, id: string): Promise<StoredSnapshot>;
  // Newest first.
  list(partnerId: string, filter: Omit<SnapshotFilter, "partnerId">): Promise<StoredSnapshot[]>;
  remove(partnerId: string, id: string, record?: SnapshotRecorder): Promise<void>;
  // Calls back after every event of a snapshot that this server stores.
  onEvent(listener: (partnerId: string) => void): Disposable;
  // The template of the session that the files come from. null if there is no such source.
  templateOf(partnerId: string, from: FilesFrom): Promise<string | null>;
  // Calls `work` while the files are there: those of a snapshot, or a copy of a session's files that is deleted afterwards.
  withFiles<Result>(partnerId: string, from: FilesFrom, work: (files: SessionFiles) => Promise<Result>): Promise<Result>;
}

export type SnapshotRecorder = (tx: Db, snapshot: StoredSnapshot) => Promise<void>;

// The snapshot or the session whose files a create copies.
export type FilesFrom = { snapshotId: string } | { sessionId: string };

// The snapshot that has the files of a new session. `sessionId` if it is a fork.
export interface SessionFiles {
  snapshotId: SnapshotId;
  sessionId?: SessionId;
  // The image of the repository that the files were used with.
  image?: string;
}

export interface SnapshotLimits {
  // How many snapshots each partner may have.
  maxSnapshots: number;
  maxSnapshotBytes: number;
  // null: snapshots are kept until they are deleted.
  snapshotRetentionMs: number | null;
}

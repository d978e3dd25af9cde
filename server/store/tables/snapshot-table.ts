import type { SnapshotId } from "@berth/contract";

export interface SnapshotsTable {
  id: SnapshotId;
  // null: the operator's, which templates may name.
  partner_id: string | null;
  // The session that it was taken of.
  session_id: string;
  // `fork`: it exists only while sessions are forked from another one, and no partner sees it.
  purpose: "keep" | "fork";
  // `creating` and `deleting` have a lease. A `ready` one has its files.
  state: "creating" | "ready" | "deleting";
  name: string;
  template: string;
  // The image of the repository that the session ran in; null if it was the template's.
  image: string | null;
  driver: string;
  // The machine that has the files; null if they are not bound to one.
  host: string | null;
  bytes: number | null;
  // The server that works on it, and when its claim expires. A fork in the state `ready` has a lease too.
  lease_owner: string | null;
  lease_until: number | null;
  created_at: number;
}

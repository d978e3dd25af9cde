import type { SessionId, VolumeId, VolumeMode, VolumeMount } from "@berth/contract";

export interface VolumesTable {
  id: VolumeId;
  partner_id: string;
  name: string;
  size_mb: number;
  // A volume in the state `deleting` is invisible. Its files are deleted, and then the row.
  state: "ready" | "deleting";
  // Where its files are, as for a session. `driver` is null until a session mounts it for the first time.
  driver: string | null;
  host: string | null;
  created_at: number;
}

// The claims of sessions on volumes. A claim counts while its session exists and is not destroyed, so nothing has to release it.
export interface VolumeMountsTable {
  volume_id: VolumeId;
  session_id: SessionId;
  mode: VolumeMode;
}

// A volume as a session mounts it. Stored as JSON in `sessions.volumes`.
export interface MountedVolume extends VolumeMount {
  id: VolumeId;
  sizeMb: number;
}

import { DAY, MINUTE, SECOND } from "../../clock.ts";
import { anyText, days, duration, oneOf, wholeNumber } from "../kinds.ts";
import { variable } from "../variable.ts";

export const SESSION_VARIABLES = {
  launchTtlMs: variable({
    name: "BERTH_LAUNCH_TTL",
    kind: duration(1 * SECOND, 1 * DAY),
    default: 5 * MINUTE,
    help: "How long a launch URL stays valid. `0` is refused.",
  }),
  timeoutAction: variable<"pause" | "destroy">({
    name: "BERTH_TIMEOUT_ACTION",
    kind: oneOf("pause", "destroy"),
    default: "pause",
    help: "What happens when the timeout of a session elapses for which nothing else was chosen: `pause` keeps its files, `destroy` deletes them.",
  }),
  hibernateAfterMs: variable({
    name: "BERTH_HIBERNATE_AFTER",
    kind: duration(0, 365 * DAY),
    default: 10 * MINUTE,
    help: "How long a paused session keeps its memory. After that its processes end and only its files stay. `0` frees the memory at once.",
  }),
  pausedMs: variable({
    name: "BERTH_PAUSED_DAYS",
    kind: days(3650),
    default: 30 * DAY,
    defaultHelp: "30",
    help: "Days after which a paused session is destroyed with its files. `0` is refused; `3650` keeps sessions for ten years. If a new value would destroy more than three sessions at the next start, the server says so in its log and waits for a day.",
  }),
  tombstoneMs: variable({
    name: "BERTH_TOMBSTONE_DAYS",
    kind: days(3650),
    default: 30 * DAY,
    defaultHelp: "30",
    help: "Days for which the API still returns a destroyed session. After that its record is deleted. `0` is refused.",
  }),
  quarantineMs: variable({
    name: "BERTH_QUARANTINE_DAYS",
    kind: days(3650),
    default: 30 * DAY,
    defaultHelp: "30",
    help: "Days for which the files of a sandbox, a snapshot or a volume are kept that the store does not know, because its row was lost. `0` is refused. `berth session recover` lists such sandboxes and gives them a session again.",
  }),
  maxSnapshots: variable({
    name: "BERTH_MAX_SNAPSHOTS",
    kind: wholeNumber(0, 1_000_000),
    default: 100,
    help: "Snapshots that each partner may have. `0` turns snapshots off; forks of sessions still work.",
  }),
  maxSnapshotMib: variable({
    name: "BERTH_MAX_SNAPSHOT_MIB",
    kind: wholeNumber(0, 1_000_000_000),
    default: 102_400,
    help: "MiB that the snapshots of each partner may occupy together. `0` leaves no room for snapshots.",
  }),
  snapshotRetentionMs: variable<number | null>({
    name: "BERTH_SNAPSHOT_DAYS",
    kind: days(3650),
    default: null,
    defaultHelp: "no limit",
    help: "Days after which a snapshot is deleted. Those of the operator are kept. `0` is refused; without the setting, snapshots are kept. A new value that would delete more than three snapshots waits for a day, like `BERTH_PAUSED_DAYS`.",
  }),
  templatesFile: variable<string | null>({
    name: "BERTH_TEMPLATES",
    kind: anyText,
    default: null,
    defaultHelp: "the built-in template `default`",
    help: "YAML or JSON file with sandbox templates.",
  }),
  poolSize: variable({
    name: "BERTH_POOL_SIZE",
    kind: wholeNumber(0, 1000),
    default: 2,
    help: "Warm sandboxes that are kept ready for each template at least, so that sessions start at once. `0` turns the pool off.",
  }),
  poolMax: variable<number | null>({
    name: "BERTH_POOL_MAX",
    kind: wholeNumber(0, 1000),
    default: null,
    defaultHelp: "100; on kubernetes `BERTH_POOL_SIZE`",
    help: "Warm sandboxes for each template at most. The pool grows by one for each session that waits because it found no warm sandbox, as far as it can be filled and a quarter of the free memory allows, and shrinks again when it has not been needed for ten minutes. It does not grow while the load is above four for each processor. `0` keeps it at `BERTH_POOL_SIZE`.",
  }),
  maxSandboxes: variable<number | null>({
    name: "BERTH_MAX_SANDBOXES",
    kind: wholeNumber(1, 1_000_000),
    default: null,
    defaultHelp: "no limit",
    help: "Largest number of sandboxes on this server. Beyond it, creating a session or resuming a hibernated one fails with 503. Warm sandboxes count, but make room for sessions. `0` is refused.",
  }),
  maxVolumes: variable({
    name: "BERTH_MAX_VOLUMES",
    kind: wholeNumber(0, 10_000),
    default: 20,
    help: "Volumes that each partner may have. `0` turns volumes off.",
  }),
  maxVolumesGb: variable({
    name: "BERTH_MAX_VOLUMES_GB",
    kind: wholeNumber(0, 1_000_000),
    default: 100,
    help: "The sizes of all volumes of a partner in all, in GiB. Except on Kubernetes, a volume takes only the space of its files. `0` leaves no room for volumes.",
  }),
};

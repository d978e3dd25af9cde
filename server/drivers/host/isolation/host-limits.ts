import { readFileSync } from "node:fs";

// Per sandbox. All sandboxes of a machine share about 3,000 (kernel.pty.max).
export const PSEUDO_TERMINALS = 64;
const OPEN_FILES = 16_384;
const MIN_OPEN_FILES = 1024;
// The share of the machine's open files that all processes of one sandbox get together.
const SHARE_OF_FILES = 1 / 4;
// The share of one user's limit that a sandbox gets if all sandboxes belong to one user.
export const SHARE_OF_USER = 1 / 4;
const PENDING_SIGNALS = 16_384;
const MESSAGE_QUEUE_BYTES = 819_200;

// The limits of the server and of its machine. A sandbox cannot get higher limits or a lower OOM score than the server, unless the
// server has CAP_SYS_RESOURCE, which many container platforms withhold from root.
export interface HostLimits {
  openFiles: number;
  pendingSignals: number;
  messageQueueBytes: number;
  oomScore: number;
  // The limit of the whole machine. systemd raises it.
  fileMax: number;
}

// The limits with which each process of a sandbox starts.
export interface ProcessLimits {
  openFiles: number;
  // The kernel counts these two per user, and therefore per sandbox. A timer counts as a pending signal.
  pendingSignals: number;
  messageQueueBytes: number;
}

export function readHostLimits(): HostLimits {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const hardLimit = (name: string) => {
    const found = new RegExp(`^Max ${name}\\s+\\S+\\s+(\\S+)`, "m").exec(limits)?.[1];
    return found === undefined || found === "unlimited" ? Infinity : Number(found);
  };
  return {
    openFiles: hardLimit("open files"),
    pendingSignals: hardLimit("pending signals"),
    messageQueueBytes: hardLimit("msgqueue size"),
    oomScore: Number(readFileSync("/proc/self/oom_score_adj", "utf8")),
    fileMax: Number(readFileSync("/proc/sys/fs/file-max", "utf8")),
  };
}

type SomeLimits = { [Name in keyof ProcessLimits]?: number | undefined };

// A command line that gives a command these limits, and no core dumps.
export function withLimits({ openFiles, pendingSignals, messageQueueBytes }: SomeLimits, line: readonly string[]): string[] {
  const values = { nofile: openFiles, sigpending: pendingSignals, msgqueue: messageQueueBytes, core: 0 };
  const options = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}:${value}`]));
  return ["prlimit", ...options, ...line];
}

// The same for a sandbox that shares what the kernel counts per user with all sandboxes of an ordinary user.
export function sharedProcessLimits(template: { pids: number }, host = readHostLimits()): ProcessLimits {
  const { openFiles, pendingSignals, messageQueueBytes } = processLimits(template, host);
  const share = (limit: number, total: number) => Math.min(limit, Math.floor(total * SHARE_OF_USER));
  return {
    openFiles,
    pendingSignals: share(pendingSignals, host.pendingSignals),
    messageQueueBytes: share(messageQueueBytes, host.messageQueueBytes),
  };
}

export function processLimits({ pids }: { pids: number }, host = readHostLimits()): ProcessLimits {
  const shareOfFiles = Math.max(MIN_OPEN_FILES, Math.floor((host.fileMax * SHARE_OF_FILES) / pids));
  return {
    openFiles: Math.min(OPEN_FILES, host.openFiles, shareOfFiles),
    pendingSignals: Math.min(PENDING_SIGNALS, host.pendingSignals),
    messageQueueBytes: Math.min(MESSAGE_QUEUE_BYTES, host.messageQueueBytes),
  };
}

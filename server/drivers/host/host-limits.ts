import { readFileSync } from "node:fs";

// In one sandbox. The kernel has some 3,000 for all sandboxes together (kernel.pty.max).
export const PSEUDO_TERMINALS = 64;
const OPEN_FILES = 16_384;
const FEWEST_OPEN_FILES = 1024;
// Of all files that the machine can have open, all processes of one sandbox together get no more.
const SHARE_OF_FILES = 1 / 4;
const PENDING_SIGNALS = 16_384;
const MESSAGE_QUEUE_BYTES = 819_200;

// The limits of the server and of its machine. Without a capability that many places withhold from root, a sandbox cannot be
// given higher limits than the server has, nor a better chance than the server's when memory runs out.
export interface HostLimits {
  openFiles: number;
  pendingSignals: number;
  messageQueueBytes: number;
  oomScore: number;
  // Of the whole machine; systemd lifts it.
  fileMax: number;
}

// Each process of a sandbox is started with these.
export interface ProcessLimits {
  openFiles: number;
  // These two are counted for all processes of a user, so for the sandbox. A timer counts as a pending signal.
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

export function processLimits({ pids }: { pids: number }, host = readHostLimits()): ProcessLimits {
  const shareOfFiles = Math.max(FEWEST_OPEN_FILES, Math.floor((host.fileMax * SHARE_OF_FILES) / pids));
  return {
    openFiles: Math.min(OPEN_FILES, host.openFiles, shareOfFiles),
    pendingSignals: Math.min(PENDING_SIGNALS, host.pendingSignals),
    messageQueueBytes: Math.min(MESSAGE_QUEUE_BYTES, host.messageQueueBytes),
  };
}

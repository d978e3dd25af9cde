// Sends a signal to the process group that `pid` leads. No-op if it has already exited.
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The processes have exited between the caller's check and this call.
  }
}

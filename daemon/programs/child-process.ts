// Loads `node:child_process` on first use, because the daemon can start without it.
export function childProcess() {
  return process.getBuiltinModule("node:child_process");
}

// Wraps a command line so that it runs as this user of the host, which keeps these capabilities of root and loses all others.
export function asUser({ uid, gid }: { uid: number; gid: number }, capabilities: readonly string[], line: readonly string[]): string[] {
  const kept = ["-all", ...capabilities.map((name) => `+${name}`)].join();
  return ["setpriv", "--reuid", `${uid}`, "--regid", `${gid}`, "--clear-groups", "--inh-caps", kept, "--ambient-caps", kept, ...line];
}

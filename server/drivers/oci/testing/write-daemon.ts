import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Makes a folder that a driver can mount at /opt/berth, with a script in place of the daemon.
export function writeDaemon(folder: string, script: string): void {
  mkdirSync(join(folder, "lib"), { mode: 0o755 });
  symlinkSync("/bin/sh", join(folder, "lib/sh"));
  writeFileSync(join(folder, "init.sh"), script);
}

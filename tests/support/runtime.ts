import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { buildDaemon } from "../../daemon/build.ts";

const root = join(import.meta.dirname, "../..");
let building: Promise<string> | undefined;

// The folder that drivers mount at /opt/berth. It is built if the daemon's sources are newer.
export function daemonRuntime(): Promise<string> {
  return (building ??= build());
}

async function build(): Promise<string> {
  const folder = join(root, "daemon/dist");
  const sources = globSync(["daemon/**/*.{ts,sh,cjs}", "daemon/terminals/bashrc", "contract/**/*.ts"], {
    cwd: root,
    exclude: ["daemon/dist*/**", "daemon/node_modules/**"],
  });
  const changedMs = Math.max(...sources.map((path) => statSync(join(root, path)).mtimeMs));
  const builtMs = statSync(join(folder, "daemon.cjs"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedMs > builtMs) await buildDaemon();
  return folder;
}

import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildDaemon } from "../../daemon/build.ts";
import { lockDataFolder } from "../../server/data-folder/data-folder-lock.ts";

const root = join(import.meta.dirname, "../..");
let building: Promise<string> | undefined;

// The folder that drivers mount at /opt/berth. It is built if the daemon's sources are newer.
export function daemonRuntime(): Promise<string> {
  return (building ??= build());
}

// The same folder with a snapshot of the daemon that another version of Node has made.
export async function runtimeWithForeignSnapshot(): Promise<{ folder: string } & Disposable> {
  const runtime = await daemonRuntime();
  const folder = mkdtempSync(join(tmpdir(), "berth-runtime-"));
  for (const name of readdirSync(runtime)) symlinkSync(join(runtime, name), join(folder, name));
  const snapshot = readFileSync(join(runtime, "daemon.blob"));
  snapshot.write(process.version.slice(1).replace(/\d/g, "0"), snapshot.indexOf(process.version.slice(1)));
  rmSync(join(folder, "daemon.blob"));
  writeFileSync(join(folder, "daemon.blob"), snapshot);
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

async function build(): Promise<string> {
  // Tests that ask for the folder start sandboxes without a server. With a lock like a server's, a concurrent `berth down --delete`
  // keeps the files that all installations of the machine share.
  await lockDataFolder(`/proc/${process.pid}`);
  const folder = join(root, "daemon/dist");
  const sources = globSync(["daemon/**/*.{ts,sh,cjs}", "daemon/terminals/bashrc", "contract/**/*.ts", "native/**/*.ts"], {
    cwd: root,
    exclude: ["daemon/dist*/**", "daemon/node_modules/**"],
  });
  const changedMs = Math.max(...sources.map((path) => statSync(join(root, path)).mtimeMs));
  const builtMs = statSync(join(folder, "daemon.cjs"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedMs > builtMs) await buildDaemon();
  return folder;
}

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { PLAIN_PATH, run } from "../run.ts";
import { bundleConfig } from "./bundle.ts";
import { openCgroups } from "./cgroups.ts";
import { prepareHostRoot } from "./root.ts";
import { pickUserIds } from "./user-ids.ts";
import { probeVolumes } from "./volume.ts";

export type OciProbe = { usable: false; reason: string } | { usable: true; reason: string; runtime: string; boundDisks: boolean };

export const ROOTS_DIR = "/run/berth/roots";
const CANDIDATES = ["runc", "crun", "runsc"];
let cached: Promise<OciProbe> | undefined;

// Finds out by doing: a container with everything that a sandbox asks for is run to its end. Once per process.
export function probeOci(): Promise<OciProbe> {
  return (cached ??= probe());
}

async function probe(): Promise<OciProbe> {
  if (process.platform !== "linux") return { usable: false, reason: "OCI containers need Linux." };
  if (process.getuid?.() !== 0) return { usable: false, reason: "OCI containers need the server to run as root." };
  const found = CANDIDATES.map(findProgram).filter((path) => path !== undefined);
  if (found.length === 0) return { usable: false, reason: "None of runc, crun and runsc is installed (apt install runc)." };
  const complaints: string[] = [];
  const scratch = mkdtempSync(join(tmpdir(), "berth-probe-"));
  try {
    for (const runtime of found) {
      const complaint = await tryRuntime(runtime, scratch);
      if (complaint !== undefined) {
        complaints.push(`${runtime}: ${complaint}`);
        continue;
      }
      const volumes = await probeVolumes(join(scratch, "disk"));
      return { usable: true, runtime, boundDisks: volumes.bounded, reason: `${runtime} runs containers here; ${volumes.reason}.` };
    }
    return { usable: false, reason: `No container could be run (${complaints.join("; ")}).` };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function tryRuntime(runtime: string, scratch: string): Promise<string | undefined> {
  const id = `probe-${process.pid}`;
  const cgroups = openCgroups("berth-probe");
  const folder = (name: string) => {
    mkdirSync(join(scratch, name), { recursive: true });
    return join(scratch, name);
  };
  try {
    const config = bundleConfig({
      template: DEFAULT_TEMPLATE,
      root: prepareHostRoot(ROOTS_DIR),
      workspace: folder("workspace"),
      home: folder("home"),
      runtimeDir: folder("runtime"),
      egress: folder("egress"),
      userIds: pickUserIds(new Set()),
      cgroupsPath: cgroups.pathOf(id),
      env: { PATH: PLAIN_PATH },
      args: ["/bin/true"],
    });
    // Nobody owns these folders inside, so the probe starts at the root.
    config.process.cwd = "/";
    writeFileSync(join(scratch, "config.json"), JSON.stringify(config));
    const { code, output } = await run(runtime, ["--root", join(scratch, "state"), "run", "--bundle", scratch, id], { timeoutMs: 20_000 });
    return code === 0 ? undefined : (output.split("\n").at(-1)?.slice(0, 300) ?? `ended with ${code}`);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await cgroups.kill(id);
    await cgroups.remove(id);
  }
}

function findProgram(name: string): string | undefined {
  if (isAbsolute(name)) return existsSync(name) ? name : undefined;
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...PLAIN_PATH.split(":")];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

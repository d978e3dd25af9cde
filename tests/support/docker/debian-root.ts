import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import type { TestProject } from "vitest/node";
import { onPath } from "../on-path.ts";

declare module "vitest" {
  interface ProvidedContext {
    debianRoot: DebianRoot;
  }
}

// `tar` is the root as a tar file. `outcome` is a file that appears when `tar` is ready, empty, or when it could not be made,
// with the reason.
export interface DebianRoot {
  tar: string;
  outcome: string;
}

const SUITE = "bookworm";
// The packages of deploy/Dockerfile.sandbox without those for interactive use.
const PACKAGES = "bash,ca-certificates,git,libstdc++6,procps,ripgrep";
const WITHOUT = ["doc", "man", "info", "locale", "lintian"];
// As in that file: the user of every sandbox, and the mount points.
const FINISH = [
  `echo 'user:x:1000:1000:user:/home/user:/bin/bash' >> "$1/etc/passwd"`,
  `echo 'user:x:1000:' >> "$1/etc/group"`,
  `mkdir -p "$1/workspace" "$1/home/user" "$1/opt/berth" "$1/run/berth" "$1/run/berth-egress"`,
  `chown 1000:1000 "$1/workspace" "$1/home/user" "$1/run/berth"`,
  // git does not need these, and they are a third of the root that every Engine has to unpack.
  `rm -rf "$1"/usr/share/perl "$1"/usr/lib/*/perl "$1"/usr/lib/*/gconv`,
];
const RECIPE = [
  "--quiet",
  "--variant=minbase",
  "--format=tar",
  `--include=${PACKAGES}`,
  // The root need not survive a power failure.
  "--dpkgopt=force-unsafe-io",
  ...WITHOUT.map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
  ...FINISH.map((command) => `--customize-hook=${command}`),
  SUITE,
];
// The work takes half a minute on an idle machine, and longer while tests run, because it has a lower priority.
const AT_MOST_MS = 10 * 60_000;

// Makes the Debian root of the Docker tests' image. The cache holds it under a name derived from its recipe. If the cache is
// empty, the root is made in the background while other tests run (see vitest.config.ts).
export default async function beginDebianRoot(project: TestProject): Promise<() => Promise<void>> {
  const recipe = createHash("sha256").update(JSON.stringify(RECIPE)).digest("hex").slice(0, 16);
  const tar = join(import.meta.dirname, `../../../node_modules/.cache/berth/debian-root-${recipe}.tar`);
  const folder = await mkdtemp(join(tmpdir(), "berth-debian-"));
  const outcome = join(folder, "outcome");
  project.provide("debianRoot", { tar, outcome });
  const ended = new AbortController();
  const making = make(tar, AbortSignal.any([ended.signal, AbortSignal.timeout(AT_MOST_MS)]))
    .catch(String)
    .then(async (reason = "") => {
      await writeFile(`${outcome}.part`, reason);
      await rename(`${outcome}.part`, outcome);
    });
  return async () => {
    ended.abort();
    await making;
    await rm(folder, { recursive: true });
  };
}

// Returns the reason if the root cannot be made.
async function make(tar: string, signal: AbortSignal): Promise<string | undefined> {
  if (existsSync(tar)) return undefined;
  if (process.platform !== "linux") return "the image's Debian root is made with mmdebstrap, which needs Linux";
  if (process.getuid?.() !== 0) return "the image's Debian root is made with mmdebstrap, which needs root";
  if (!onPath("mmdebstrap")) return "the image's Debian root is made with mmdebstrap (apt-get install mmdebstrap)";
  await mkdir(dirname(tar), { recursive: true });
  const part = `${tar}.${process.pid}.part`;
  try {
    const failure = await mmdebstrap(part, signal);
    if (failure !== undefined) return `mmdebstrap could not make the image's Debian root: ${failure}`;
    await forgetOthers(tar);
    await rename(part, tar);
    return undefined;
  } finally {
    await rm(part, { force: true });
  }
}

async function mmdebstrap(file: string, signal: AbortSignal): Promise<string | undefined> {
  await using output = await open(file, "w");
  const command = ["-n", "5", "mmdebstrap", ...RECIPE, "-"];
  // mmdebstrap relies on a signal to its whole process group to unmount and delete its work.
  const child = spawn("nice", command, { detached: true, stdio: ["ignore", output.fd, "pipe"] });
  const stop = () => child.pid !== undefined && child.exitCode === null && process.kill(-child.pid, "SIGTERM");
  const abandon = () => {
    stop();
    rmSync(file, { force: true });
  };
  signal.addEventListener("abort", stop, { once: true });
  process.once("exit", abandon);
  const exited = new Promise<number | null>((resolve) => child.once("error", () => resolve(null)).once("exit", resolve));
  const [said, status] = await Promise.all([text(child.stderr!), exited]);
  signal.removeEventListener("abort", stop);
  process.off("exit", abandon);
  if (status === 0) return undefined;
  return signal.aborted ? "it was ended before it was done" : said.trim().split("\n").at(-1);
}

async function forgetOthers(tar: string): Promise<void> {
  const folder = dirname(tar);
  for (const name of await readdir(folder)) if (/^debian-root-.*\.tar$/.test(name)) await rm(join(folder, name));
}

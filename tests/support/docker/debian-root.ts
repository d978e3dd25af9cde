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

// The root as a tar file, and a file that is there once it is known whether the root is: empty, or why it is not.
export interface DebianRoot {
  tar: string;
  outcome: string;
}

const SUITE = "bookworm";
// What deploy/Dockerfile.sandbox installs, but for what only people need.
const PACKAGES = "bash,ca-certificates,git,libstdc++6,procps,ripgrep";
const WITHOUT = ["doc", "man", "info", "locale", "lintian"];
// In the order of that file: the user of every sandbox, and the folders that are mounted over.
const FINISH = [
  `echo 'user:x:1000:1000:user:/home/user:/bin/bash' >> "$1/etc/passwd"`,
  `echo 'user:x:1000:' >> "$1/etc/group"`,
  `mkdir -p "$1/workspace" "$1/home/user" "$1/opt/berth" "$1/run/berth" "$1/run/berth-egress"`,
  `chown 1000:1000 "$1/workspace" "$1/home/user" "$1/run/berth"`,
  // A third of the root, which the Engine would have to unpack each time: git does without.
  `rm -rf "$1"/usr/share/perl "$1"/usr/lib/*/perl "$1"/usr/lib/*/gconv`,
];
const RECIPE = [
  "--quiet",
  "--variant=minbase",
  "--format=tar",
  `--include=${PACKAGES}`,
  // Nothing here has to survive a power cut.
  "--dpkgopt=force-unsafe-io",
  ...WITHOUT.map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
  ...FINISH.map((command) => `--customize-hook=${command}`),
  SUITE,
];
// Half a minute of work on an idle machine. It yields to the tests that run meanwhile, so it may become some.
const AT_MOST_MS = 10 * 60_000;

// The Debian root that the Docker tests' image is made from. It is kept in the cache under a name that follows from its
// recipe; where it is missing it is made while the tests before the Docker ones run (see vitest.config.ts).
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

// Returns why there is no root.
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
  // A group of its own: mmdebstrap counts on a signal reaching all its parts, and then unmounts and deletes what it began.
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

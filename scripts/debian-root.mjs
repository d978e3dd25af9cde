// Makes the Debian root that the Docker tests' image is built from, once. Set-up for the tests starts it in the background,
// because it takes a minute; whoever needs it looks into the cache (tests/support/debian-root.ts). Its name there follows
// from this file, so that another recipe is another root.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

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

const recipe = createHash("sha256")
  .update(readFileSync(fileURLToPath(import.meta.url)))
  .digest("hex");
const file = fileURLToPath(new URL(`../node_modules/.cache/berth/debian-root-${recipe.slice(0, 16)}.tar`, import.meta.url));
if (!existsSync(file)) make();

function forgetOthers() {
  for (const name of readdirSync(dirname(file))) if (/^debian-root-.*\.(tar|log)$/.test(name)) rmSync(join(dirname(file), name));
}

function make() {
  mkdirSync(dirname(file), { recursive: true });
  // Whoever waits looks whether this process lives.
  writeFileSync(`${file}.pid`, String(process.pid));
  const part = `${file}.${process.pid}.part`;
  const options = [
    "--quiet",
    "--variant=minbase",
    "--format=tar",
    `--include=${PACKAGES}`,
    // Nothing here has to survive a power cut.
    "--dpkgopt=force-unsafe-io",
    ...WITHOUT.map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
    ...FINISH.map((command) => `--customize-hook=${command}`),
  ];
  const { status, stderr, error } = spawnSync("mmdebstrap", [...options, SUITE, part], { stdio: ["ignore", "ignore", "pipe"] });
  if (status === 0) {
    forgetOthers();
    renameSync(part, file);
  } else {
    rmSync(part, { force: true });
    writeFileSync(`${file}.log`, error ? String(error) : stderr);
    process.exitCode = 1;
  }
  rmSync(`${file}.pid`, { force: true });
}

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { chown, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

const CACHE = join(import.meta.dirname, "../../../node_modules/.cache/berth");
// The packages of deploy/Dockerfile.sandbox without those for interactive use.
const PACKAGES = ["bash", "ca-certificates", "git", "libstdc++6", "procps", "ripgrep"];
// git works without Perl's modules, and they would be a third of the root that every Engine has to unpack.
const WITHOUT = ["perl", "debconf", "dpkg", "git-man"];
const WITHOUT_FILES = /^\/usr\/(share\/(doc|man|info|locale|lintian)|lib\/[^/]+\/gconv)\//;
const USER = 1000;
// The content of /etc/debian_chroot in the image. Debian's shells show it in their prompt.
export const IMAGE_MARK = "berth-test";

// Makes the Debian root of the Docker tests' image as a tar file, and returns its path. The root consists of the files that
// the machine's own packages have installed, so nothing is downloaded. The cache keeps it until one of these packages changes.
export async function debianRoot(): Promise<string> {
  const packages = await withDependencies(PACKAGES);
  const key = createHash("sha256")
    .update(packages.map((one) => one.name + one.version).join(" "))
    .digest("hex");
  const tar = join(CACHE, `debian-root-${key.slice(0, 16)}.tar`);
  if (existsSync(tar)) return tar;
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "debian-root-"));
  try {
    await writeRoot(join(folder, "root.tar"), await filesOf(packages), folder);
    await rename(join(folder, "root.tar"), tar);
  } finally {
    await rm(folder, { recursive: true });
  }
  for (const name of await readdir(CACHE))
    if (/^debian-root-.*\.tar$/.test(name) && name !== basename(tar)) await rm(join(CACHE, name), { force: true });
  return tar;
}

interface Package {
  // The name includes the architecture.
  name: string;
  version: string;
  isEssential: boolean;
  dependencies: string[];
}

// The named packages, every package that Debian calls essential, and all that they need.
async function withDependencies(names: string[]): Promise<Package[]> {
  const installed = new Map<string, Package>();
  const native = process.arch === "x64" ? "amd64" : process.arch;
  for (const line of (await dpkg("-W", "-f", "${Package}\\t${Architecture}\\t${Version}\\t${Essential}\\t${Pre-Depends}, ${Depends}\\n"))
    .trim()
    .split("\n")) {
    const [name = "", architecture = "", version = "", essential, needs = ""] = line.split("\t");
    // A machine may have packages of other architectures too.
    if (architecture !== "all" && architecture !== native) continue;
    // Takes the first of several alternatives, without its version or architecture: `libc6 (>= 2.36)`, `perl:any`.
    const dependencies = needs.split(",").map((need) => need.trim().split(/[ :|(]/)[0]!);
    installed.set(name, { name: `${name}:${architecture}`, version, isEssential: essential === "yes", dependencies });
  }
  const chosen = new Set<Package>();
  const add = (name: string): void => {
    const found = installed.get(name);
    if (!found || chosen.has(found) || WITHOUT.includes(name)) return;
    chosen.add(found);
    found.dependencies.forEach(add);
  };
  for (const [name, { isEssential }] of installed) if (isEssential) add(name);
  names.forEach(add);
  return [...chosen].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

// Paths without symbolic links in their folders: packages may name `/bin/bash`, where `/bin` is a link to `/usr/bin`.
async function filesOf(packages: Package[]): Promise<string[]> {
  const listed = (await dpkg("-L", ...packages.map(({ name }) => name))).split("\n");
  const wanted = listed.filter((path) => path.startsWith("/") && path !== "/." && !WITHOUT_FILES.test(`${path}/`));
  const files = new Set(["/etc/ssl/certs/ca-certificates.crt", ...wanted].filter((path) => existsSync(path)));
  return [...new Set([...files].map((path) => join(realpathSync(dirname(path)), basename(path))))];
}

// Adds the user of every sandbox and the mount points, as deploy/Dockerfile.sandbox does.
async function writeRoot(tar: string, files: string[], folder: string): Promise<void> {
  const list = join(folder, "files");
  await writeFile(list, files.map((path) => path.slice(1)).join("\n"));
  await run("tar", ["--create", "--file", tar, "--directory", "/", "--no-recursion", "--files-from", list]);
  const own = join(folder, "own");
  const folders = ["workspace", "home/user", "opt/berth", "run/berth", "run/berth-egress"];
  for (const path of ["etc", ...folders]) await mkdir(join(own, path), { recursive: true });
  for (const path of ["workspace", "home/user", "run/berth"]) await chown(join(own, path), USER, USER);
  const accounts = (name: string) => readFile(`/usr/share/base-passwd/${name}.master`, "utf8");
  await writeFile(join(own, "etc/passwd"), `${await accounts("passwd")}user:x:${USER}:${USER}:user:/home/user:/bin/bash\n`);
  await writeFile(join(own, "etc/group"), `${await accounts("group")}user:x:${USER}:\n`);
  await writeFile(join(own, "etc/debian_chroot"), IMAGE_MARK);
  await run("tar", ["--append", "--file", tar, "--directory", own, "etc/passwd", "etc/group", "etc/debian_chroot", ...folders]);
}

const dpkg = (...args: string[]) => run("dpkg-query", args);

const run = async (program: string, args: string[]) => (await promisify(execFile)(program, args, { maxBuffer: 64 * 1024 * 1024 })).stdout;

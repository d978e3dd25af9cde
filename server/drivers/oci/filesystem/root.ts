import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "../../../bounded-io/make-folder.ts";
import { USER } from "../users/user-ids.ts";

// Creates the root folder for templates that name none: empty mount points, the host's links into /usr, and the few files of /etc
// that programs need. It contains no data of a sandbox, so all sandboxes share one, read-only. It is outside the data folder,
// because the sandbox's root user, who has no rights on the host, must be able to reach it.
export const prepareHostRoot = (parent: string, user = USER): string => makeRoot(parent, planHostRoot(user));

// Creates the root folder for templates that name a root: an empty copy of it, and the entries to mount into that copy. The runtime
// makes only the top mount of a root read-only, not the mounts below. Entries that are mounted one by one are read-only with
// everything below them.
export function prepareTemplateRoot(parent: string, root: string): { path: string; entries: string[] } {
  makeMountPoints(root);
  const found = readdirSync(root, { withFileTypes: true });
  const entries = found
    .filter((entry) => (entry.isDirectory() && !PRIVATE_FOLDERS.has(entry.name)) || entry.isFile())
    .map(({ name }) => name);
  const links = found.filter((entry) => entry.isSymbolicLink()).map(({ name }) => [name, readlinkSync(join(root, name))]);
  const path = makeRoot(parent, {
    modes: MOUNT_POINTS,
    folders: found.filter((entry) => entry.isDirectory()).map(({ name }) => name),
    links: Object.fromEntries(links) as Record<string, string>,
    files: Object.fromEntries(found.filter((entry) => entry.isFile()).map(({ name }) => [name, ""])),
    copies: [],
  });
  return { path, entries };
}

// Older roots may have modes that were masked, or a folder for the daemon's socket that a server without root cannot enter.
const LAYOUT = 3;

interface RootPlan {
  modes: Record<string, number>;
  folders: readonly string[];
  // Maps a path to its target.
  links: Record<string, string>;
  // Maps a path to its content.
  files: Record<string, string>;
  copies: readonly { name: string }[];
}

// Equal plans share one folder, which is created on first use.
function makeRoot(parent: string, plan: RootPlan): string {
  const path = join(parent, createHash("sha256").update(JSON.stringify({ LAYOUT, plan })).digest("hex").slice(0, 16));
  if (existsSync(path)) return path;
  makeFolder(parent, 0o755);
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o755 });
  for (const folder of plan.folders) mkdirSync(join(draft, folder), { recursive: true, mode: 0o755 });
  for (const [folder, mode] of Object.entries(plan.modes)) if (existsSync(join(draft, folder))) chmodSync(join(draft, folder), mode);
  for (const [name, target] of Object.entries(plan.links)) symlinkSync(target, join(draft, name));
  for (const [name, text] of Object.entries(plan.files)) writeFileSync(join(draft, name), text, { mode: 0o644 });
  for (const { name } of plan.copies) cpSync(join("/", name), join(draft, name), { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(draft, path);
  } catch (error) {
    // Another server of this machine has created the same folder in the meantime.
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(path)) throw error;
  }
  return path;
}

// Creates the missing mount points in a template's root. Refuses symbolic links in their paths, which could lead out of that root.
export function makeMountPoints(root: string): void {
  for (const [point, mode] of Object.entries(MOUNT_POINTS)) {
    let path = root;
    for (const part of point.split("/")) {
      path = join(path, part);
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (!found) {
        mkdirSync(path);
        chmodSync(path, path === join(root, point) ? mode : 0o755);
      } else if (!found.isDirectory()) {
        throw new Error(`${path} in the template's root must be a folder`);
      }
    }
  }
}

// Mount points that hide the template's content completely.
const PRIVATE_FOLDERS = new Set(["proc", "dev", "tmp", "workspace"]);

// Each mount point has the mode of the file system that is mounted there.
const MOUNT_POINTS: Record<string, number> = {
  proc: 0o755,
  dev: 0o755,
  tmp: 0o1777,
  "run/berth": 0o755,
  "run/berth-egress": 0o755,
  workspace: 0o755,
  "home/user": 0o755,
  "opt/berth": 0o755,
  mnt: 0o755,
  data: 0o755,
};

// `run`, `home` and `opt`.
export const FOLDERS_OF_MOUNT_POINTS = [...new Set(Object.keys(MOUNT_POINTS).map((point) => dirname(point)))].filter(
  (name) => name !== ".",
);

function planHostRoot(user: number): RootPlan {
  const hostLinks = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"]
    .filter((name) => lstatSync(join("/", name), { throwIfNoEntry: false })?.isSymbolicLink())
    .map((name) => [name, readlinkSync(join("/", name))] as const);
  const copies = COPIED.map((name) => ({ name, changedMs: lstatSync(join("/", name), { throwIfNoEntry: false })?.mtimeMs })).filter(
    (copy) => copy.changedMs !== undefined,
  );
  return {
    modes: MOUNT_POINTS,
    folders: [...Object.keys(MOUNT_POINTS), "usr", "etc/ssl", "var", "sys", "root"],
    links: { ...Object.fromEntries(hostLinks), ...LINKS },
    files: { ...FILES, ...accounts(user) },
    copies,
  };
}

const LINKS: Record<string, string> = {
  "var/tmp": "/tmp",
  "var/run": "/run",
  "etc/mtab": "/proc/self/mounts",
  // The time zone is UTC without this link, too, but a program with ICU, such as Node, then looks through all of zoneinfo when it first
  // writes a time.
  "etc/localtime": "/usr/share/zoneinfo/Etc/UTC",
};

// Public files that programs need to find libraries, certificates and default versions.
const COPIED = [
  "etc/ld.so.cache",
  "etc/ld.so.conf",
  "etc/alternatives",
  "etc/ssl/certs",
  "etc/ssl/openssl.cnf",
  "etc/mime.types",
  "etc/services",
  "etc/protocols",
  "etc/debian_version",
  "etc/os-release",
];

// If the user has the number of root, there is no other root.
const accounts = (user: number): Record<string, string> => {
  const root = user === 0 ? [] : [{ line: "root:x:0:0:root:/root:/usr/sbin/nologin", group: "root:x:0:" }];
  const all = [
    ...root,
    { line: `user:x:${user}:${user}:user:/home/user:/bin/bash`, group: `user:x:${user}:` },
    { line: "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin", group: "nogroup:x:65534:" },
  ];
  return {
    "etc/passwd": all.map(({ line }) => `${line}\n`).join(""),
    "etc/group": all.map(({ group }) => `${group}\n`).join(""),
  };
};

const FILES: Record<string, string> = {
  "etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
  "etc/hostname": "sandbox\n",
  // Sandboxes have no resolver: the egress proxy resolves names.
  "etc/resolv.conf": "",
  "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
  "etc/profile": 'export PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}\n[ -n "$BASH" ] && [ -f /etc/bash.bashrc ] && . /etc/bash.bashrc\n',
  "etc/bash.bashrc":
    "[ -z \"$PS1\" ] && return\nshopt -s checkwinsize\nPS1='\\[\\e[32m\\]\\w\\[\\e[0m\\] $ '\nalias ls='ls --color=auto'\nalias ll='ls -l'\n",
  "etc/shells": "/bin/sh\n/bin/bash\n",
};

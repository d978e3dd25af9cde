import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { ImageRefusal } from "./image-refusal.ts";

// The settings of an image for the processes that run in it.
export interface ImageConfig {
  env: Record<string, string>;
  workingDir?: string;
  // Absent: root.
  user?: { uid: number; gid: number };
}

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_VARIABLES = 256;
const MAX_ENV_BYTES = 64 * 1024;
const MAX_ID = 65_535;
const NAME = /^[A-Za-z_]\w*$/;

// Reads the config of the image in an OCI layout. `root` has the names of its users.
export function readImageConfig(layout: string, root: string): ImageConfig {
  const index = readJson(join(layout, "index.json")) as { manifests: { digest: string }[] };
  const manifest = readJson(blobOf(layout, index.manifests[0]?.digest)) as { config: { digest: string } };
  const { config } = readJson(blobOf(layout, manifest.config.digest)) as { config?: RawConfig };
  const user = userOf(config?.User ?? "", root);
  return { env: envOf(config?.Env ?? []), ...(config?.WorkingDir && { workingDir: config.WorkingDir }), ...(user && { user }) };
}

interface RawConfig {
  Env?: string[] | null;
  WorkingDir?: string;
  User?: string;
}

function envOf(entries: readonly string[]): Record<string, string> {
  if (entries.length > MAX_VARIABLES || entries.join("").length > MAX_ENV_BYTES)
    throw new ImageRefusal("it sets more than 256 variables, or more than 64 KiB of them");
  const pairs = entries.flatMap((entry) => {
    const at = entry.indexOf("=");
    return at === -1 ? [] : [[entry.slice(0, at), entry.slice(at + 1)] as const];
  });
  // Drops names that shells do not accept, and those of our own variables.
  return Object.fromEntries(pairs.filter(([name, value]) => NAME.test(name) && !name.startsWith("BERTH_") && !value.includes("\0")));
}

// Finds the ids of `User`: `name`, `name:group`, or numbers.
function userOf(text: string, root: string): { uid: number; gid: number } | undefined {
  const [user = "", groupText] = text.split(":");
  if (user === "") return undefined;
  // `app:` names no group.
  const group = groupText || undefined;
  const entry = findEntry(readInside(root, "etc/passwd"), user);
  const uid = /^\d+$/.test(user) ? Number(user) : Number(entry?.[2]);
  const groupEntry = group === undefined ? undefined : findEntry(readInside(root, "etc/group"), group);
  const gid = group === undefined ? Number(entry?.[3] ?? uid) : /^\d+$/.test(group) ? Number(group) : Number(groupEntry?.[2]);
  const named = JSON.stringify(text.slice(0, 64));
  if (!(uid >= 0) || !(gid >= 0)) throw new ImageRefusal(`it runs as the user ${named}, who is not in it`);
  if (uid > MAX_ID || gid > MAX_ID) throw new ImageRefusal(`it runs as the user ${named}, whose number is above ${MAX_ID}`);
  return uid === 0 ? undefined : { uid, gid };
}

export const findEntry = (text: string, key: string): string[] | undefined =>
  text
    .split("\n")
    .map((line) => line.split(":"))
    .find(([name, , id]) => name === key || (/^\d+$/.test(key) && id === key));

// Reads a file of an image, which is not trusted: it may be a link to a file of the host. Returns "" if there is no such file.
export function readInside(root: string, path: string): string {
  const folders = path.split("/").slice(0, -1);
  for (const [i] of folders.entries())
    if (!lstatSync(join(root, ...folders.slice(0, i + 1)), { throwIfNoEntry: false })?.isDirectory()) return "";
  try {
    const file = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!fstatSync(file).isFile()) return "";
      const bytes = Buffer.alloc(MAX_FILE_BYTES);
      return bytes.toString("utf8", 0, readSync(file, bytes));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}

function readJson(path: string): unknown {
  if (statSync(path).size > MAX_FILE_BYTES) throw new ImageRefusal("its description is larger than 1 MiB");
  return JSON.parse(readFileSync(path, "utf8"));
}

function blobOf(layout: string, digest = ""): string {
  const hash = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
  if (hash === undefined) throw new ImageRefusal("its description is not valid");
  return join(layout, "blobs/sha256", hash);
}

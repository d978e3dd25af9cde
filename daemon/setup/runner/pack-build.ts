import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { MAX_BUILD_BYTES } from "@berth/contract/daemon-internal.ts";
import { PLAN_FILE, REPOSITORY_FOLDER, type BuildPlan } from "../../builds/build-plan.ts";

// Matches a Dockerfile that may bring files of the context into the image. Otherwise the context is not packed, so that a change of the
// repository's other files does not lead to another build.
const USES_CONTEXT = /^\s*(COPY|ADD|ONBUILD)\b|--mount\b/im;
const MAX_DOCKERFILE_BYTES = 1024 * 1024;

// Writes an archive with the plan and the files of the repository that a build uses. Equal files make equal archives.
export async function packBuild(wanted: BuildPlan, root: string, archive: string): Promise<void> {
  const folder = `${archive}.files`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    const plan = withoutLinks(wanted, root);
    writeFileSync(join(folder, PLAN_FILE), JSON.stringify(plan));
    // The names in the archive begin with that of the link.
    symlinkSync(root, join(folder, REPOSITORY_FOLDER));
    const paths = pathsOf(plan, root).map((path) => `${REPOSITORY_FOLDER}/${path}`);
    await tar(["--create", "--file", "-", ...SAME_BYTES, "--directory", folder, "--", PLAN_FILE, ...paths], archive);
  } catch (error) {
    rmSync(archive, { force: true });
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// Replaces the paths of the plan by their targets, because the archive contains links as links. Throws if one is outside of the repository.
function withoutLinks({ base, features, ...rest }: BuildPlan, root: string): BuildPlan {
  const whole = realpathSync(root);
  const resolve = (path: string) => {
    const found = relative(whole, realPath(join(root, path), path)) || ".";
    if (found === ".." || found.startsWith("../")) throw new Error(`${path} leads out of the repository`);
    return found;
  };
  return {
    ...rest,
    base: "image" in base ? base : { ...base, dockerfile: resolve(base.dockerfile), context: resolve(base.context) },
    features: features.map((feature) => (feature.folder === null ? feature : { ...feature, folder: resolve(feature.folder) })),
  };
}

function realPath(path: string, name: string): string {
  try {
    return realpathSync(path);
  } catch {
    throw new Error(`there is no ${name}`);
  }
}

const SAME_BYTES = [
  "--format=posix",
  "--sort=name",
  "--mtime=@0",
  "--owner=0",
  "--group=0",
  "--numeric-owner",
  "--exclude=.git",
  "--pax-option=delete=atime,delete=ctime",
];

function pathsOf({ base, features }: BuildPlan, root: string): string[] {
  const folders = features.flatMap(({ folder }) => (folder === null ? [] : [folder]));
  if ("image" in base) return folders;
  const file = join(root, base.dockerfile);
  const found = statSync(file);
  if (!found.isFile()) throw new Error(`${base.dockerfile} is not a file`);
  if (found.size > MAX_DOCKERFILE_BYTES) throw new Error(`${base.dockerfile} is larger than ${MAX_DOCKERFILE_BYTES / 2 ** 20} MiB`);
  return [...new Set([...(USES_CONTEXT.test(readFileSync(file, "utf8")) ? [base.context] : []), base.dockerfile, ...folders])];
}

// Stops at the limit, so that the archive does not fill the disk of the session.
async function tar(args: string[], archive: string): Promise<void> {
  const child = spawn("tar", args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said = (said + String(chunk)).slice(-2000)));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", () => reject(new Error("the sandbox has no tar")));
    child.once("close", resolve);
  });
  let bytes = 0;
  const bounding = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      done(bytes > MAX_BUILD_BYTES ? new Error(`its files are larger than ${MAX_BUILD_BYTES / 2 ** 20} MiB`) : null, chunk);
    },
  });
  const [code] = await Promise.all([ended, pipeline(child.stdout, bounding, createWriteStream(archive, { mode: 0o600 }))]);
  if (code !== 0) throw new Error(`its files could not be packed (${said.trim()})`);
}

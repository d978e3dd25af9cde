// Installs exactly what package-lock.json names. `node scripts/install.mjs serve` installs what the service needs;
// `test` adds the tools of the tests; `run` is what a built server needs on a Node of its own, as in its image.
// `--ignore-scripts` is for images. The lockfile never changes.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runQuietly, runStep, runSteps, StepError } from "./step.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const lockfile = join(root, "package-lock.json");
const stamp = join(root, "node_modules/.berth-installed");
const RUNNING = ["contract", "client", "server", "cli"];
const SERVING = [...RUNNING, "daemon", "docs-site", "web"];
const only = (workspaces) => ["--omit=dev", ...workspaces.map((workspace) => `--workspace=${workspace}`)];
const SCOPES = {
  run: ["--omit=optional", ...only(RUNNING)],
  serve: ["--include-workspace-root", ...only(SERVING)],
  test: [],
};

export async function installDependencies(scope, flags = []) {
  const wanted = { lockfile: hash(readFileSync(lockfile)), platform: `${process.platform}-${process.arch}` };
  const installed = readStamp();
  const isSame = installed?.lockfile === wanted.lockfile && installed.platform === wanted.platform;
  if (isSame && (installed.scope === scope || installed.scope === "test")) return;
  await runStep(`installing the packages to ${scope}`, () => installWithNpm([...SCOPES[scope], ...flags]));
  writeFileSync(stamp, JSON.stringify({ ...wanted, scope }));
}

// `npm ci` installs the lockfile or nothing, but it empties node_modules first, and a running server's sandboxes may be
// using that folder. So an existing folder is brought up to date with `npm install`. That is also the way out where
// npm refuses the lockfile because the registry lacks packages of other platforms.
function installWithNpm(flags) {
  const before = readFileSync(lockfile);
  rmSync(stamp, { force: true });
  const attempts = existsSync(join(root, "node_modules/.package-lock.json")) ? ["install"] : ["ci", "install"];
  let output = "";
  for (const attempt of attempts) {
    const result = runQuietly("npm", [attempt, ...flags, "--no-audit", "--no-fund", "--loglevel=error"], { cwd: root });
    const isUnchanged = before.equals(readFileSync(lockfile));
    if (!isUnchanged) writeFileSync(lockfile, before);
    if (result.ok && isUnchanged) return;
    output = result.output;
    if (result.ok)
      throw new StepError("npm changed package-lock.json, so what it installed is not what was tested. Run `npm run lock` and commit it.");
  }
  throw new StepError(`npm could not install the dependencies: ${reasonOf(output)}`);
}

const REASONS = [
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT/,
    "the registry cannot be reached. Check the network and `npm config get registry`, then try again.",
  ],
  [/ENOSPC/, "the disk is full. Free about 2 GB, then try again."],
  [/EACCES|EPERM|EROFS/, "this folder is not writable for you. Check who owns it, then try again."],
  [/E401|E403/, "the registry refuses access. Log in with `npm login`, then try again."],
  [/EINTEGRITY/, "a package differs from the one that was locked. Run `npm cache clean --force`, then try again."],
  [/ENOENT.*npm|npm.*ENOENT/, "npm was not found. Install Node.js with npm, then try again."],
];

function reasonOf(output) {
  const known = REASONS.find(([pattern]) => pattern.test(output));
  const line = output.split("\n").findLast((text) => /^npm error \S/.test(text) && !/log of this run/.test(text));
  return known?.[1] ?? `${line?.replace(/^npm error /, "") ?? "it gave no reason"}. Run \`npm ci\` to see its whole output.`;
}

function readStamp() {
  try {
    return JSON.parse(readFileSync(stamp, "utf8"));
  } catch {
    return undefined;
  }
}

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [scope = "serve", ...flags] = process.argv.slice(2);
  await runSteps(() => installDependencies(scope, flags));
}

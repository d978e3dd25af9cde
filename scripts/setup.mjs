// Brings a fresh clone to the point where the service runs (`serve`) or the tests do (`test`). Runs on any Node from 20
// on, because the pinned one comes with the dependencies. Each step is skipped when its result is already there.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const mode = process.argv[2] === "test" ? "test" : "serve";

// command -> Debian package
const serveTools = { runc: "runc", rg: "ripgrep", git: "git" };
const testTools = { ...serveTools, chromium: "chromium", dockerd: "docker.io", mmdebstrap: "mmdebstrap" };

installDependencies();
installSystemPackages(mode === "test" ? testTools : serveTools);
run(join(root, "node_modules/.bin/node"), ["scripts/build.ts"]);

function installDependencies() {
  const stamp = join(root, "node_modules/.berth-lock");
  const wanted = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  console.error("berth: installing dependencies");
  // Not `npm ci`: it refuses when a registry lacks the binaries of some other platform, which nobody here needs.
  run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"]);
  writeFileSync(stamp, wanted);
}

function installSystemPackages(tools) {
  if (process.platform !== "linux") return;
  const missing = Object.keys(tools).filter((command) => !onPath(command));
  if (missing.length === 0) return;
  const packages = missing.map((command) => tools[command]);
  if (process.getuid() !== 0 || !onPath("apt-get")) {
    console.error(`berth: not installed here: ${packages.join(", ")} (apt-get install ${packages.join(" ")}); going on with what can run`);
    return;
  }
  console.error(`berth: installing ${packages.join(", ")}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args) => spawnSync("apt-get", args, { stdio: ["ignore", "ignore", "inherit"], env }).status === 0;
  if (!apt("update", "-qq") || !apt("install", "-y", "-qq", "--no-install-recommends", ...packages))
    console.error(`berth: apt-get could not install ${packages.join(", ")}; going on with what can run`);
}

function onPath(command) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, command)));
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, "inherit"] });
  if (error || status !== 0) {
    console.error(`berth: \`${command} ${args.join(" ")}\` failed${error ? `: ${error.message}` : ""}`);
    process.exit(status ?? 1);
  }
}

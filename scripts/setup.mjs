// Brings a fresh clone to the point where the service runs (`serve`) or the tests do (`test`). Runs on any Node from 20
// on, because the pinned one comes with the dependencies. A step whose result is already there is skipped silently. With
// `--print-flags` it prints the flags of Node for the server, which then need not replace its process to get them.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawnSync } from "node:child_process";
import { serverFlags } from "../cli/server-flags.js";
import { isBuildCurrent } from "./build-record.mjs";
import { installDependencies } from "./install.mjs";
import { runQuietly, runStep, runSteps, seconds } from "./step.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const scope = process.argv[2] === "test" ? "test" : "serve";

// A command, or a file of a package without one -> Debian package
const SERVE_TOOLS = {
  runc: "runc",
  rg: "ripgrep",
  git: "git",
  // Fetch and unpack the images of templates.
  skopeo: "skopeo",
  umoci: "umoci",
  // Gives each sandbox of an ordinary user its own user id. Root needs no help.
  ...(process.getuid?.() === 0 ? {} : { newuidmap: "uidmap" }),
};
const TEST_TOOLS = {
  ...SERVE_TOOLS,
  "chromium-headless-shell": "chromium-headless-shell",
  curl: "curl",
  buildah: "buildah",
  // The package `busybox` has the same command, with libraries.
  "/usr/share/doc/busybox-static": "busybox-static",
  "docker-registry": "docker-registry",
  dockerd: "docker.io",
  jq: "jq",
  [`/lib/ld-musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`]: "musl",
  newuidmap: "uidmap",
  openssl: "openssl",
  python3: "python3",
  "/usr/lib/python3/dist-packages/httpx": "python3-httpx",
  "/usr/lib/python3/dist-packages/pip": "python3-pip",
  rsync: "rsync",
  ssh: "openssh-client",
};
// Resolves the names below localhost, at which sandboxes have their previews, in programs that are no browsers (docs/e2b.md). Nothing else
// needs it, so that it is not missed where it cannot be installed.
const LOCALHOST_NAMES = {
  [`/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/libnss_myhostname.so.2`]: "libnss-myhostname",
};
// With less than this nothing was installed or built, and there is nothing to report.
const WORTH_REPORTING_MS = 2_000;

await runSteps(async () => {
  await installDependencies(scope);
  await installSystemPackages(scope === "test" ? TEST_TOOLS : SERVE_TOOLS);
  build();
  const tookMs = performance.now();
  if (tookMs > WORTH_REPORTING_MS) console.error(`berth: set up in ${seconds(tookMs)}`);
  // An older one does not know them all.
  const isPinnedNode = Number(process.versions.node.split(".")[0]) >= 24;
  if (process.argv.includes("--print-flags") && isPinnedNode) console.log(serverFlags().join(" "));
});

async function installSystemPackages(tools) {
  if (process.platform !== "linux") return;
  const canInstall = process.getuid() === 0 && isOnPath("apt-get");
  const wanted = canInstall ? { ...tools, ...LOCALHOST_NAMES } : tools;
  const missing = Object.keys(wanted).filter((command) => !isOnPath(command));
  if (missing.length === 0) return;
  const names = missing.map((command) => wanted[command]).join(" ");
  if (!canInstall) {
    console.error(`berth: not installed here: ${names}. Going on without; root can add them with \`apt-get install ${names}\`.`);
    return;
  }
  await runStep(`installing ${names} with apt-get`, () => {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const apt = (...args) => runQuietly("apt-get", args, { env });
    apt("update", "-qq");
    // One by one, so that a package which this Debian lacks does not cost the others.
    for (const name of names.split(" ")) apt("install", "-y", "-qq", "--no-install-recommends", name);
  });
  const still = missing.filter((command) => !isOnPath(command)).map((command) => wanted[command]);
  if (still.length > 0) console.error(`berth: apt-get could not install ${still.join(" ")}. Going on without.`);
}

function isOnPath(command) {
  if (command.startsWith("/")) return existsSync(command);
  return (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, command)));
}

// Runs in a process of its own, because it needs the pinned Node.
function build() {
  if (isBuildCurrent(root)) return;
  const { status } = spawnSync(join(root, "node_modules/.bin/node"), ["scripts/build.ts"], { cwd: root, stdio: ["ignore", 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

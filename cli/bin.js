#!/usr/bin/env node
// Node 24 runs the TypeScript of Berth without a build. The dependencies include a pinned Node: an older one starts it and forwards
// signals to it.
import { spawn } from "node:child_process";
import * as module from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serverFlags } from "./server-flags.js";

const REQUIRED_MAJOR = 24;

// Our files have the modes that the code names, whatever the mask of the machine: sandboxes read some, and no other user reads the rest.
process.umask(0o022);

// The output may go to a program that leaves early, such as `head`.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

if (Number(process.versions.node.split(".")[0]) >= REQUIRED_MAJOR) {
  if (process.argv[2] === "serve") restartWith(serverFlags());
  const { loadBundle } = await import("./bundle.js");
  const { main } = loadBundle(process.argv[2] === "serve" ? "serve" : "command") ?? (await loadSources());
  process.exitCode = await main(process.argv.slice(2));
} else {
  runWith(findPinnedNode());
}

async function loadSources() {
  // Caches compiled code, which halves the start-up time. Without a writable folder it is a no-op.
  module.enableCompileCache?.(fileURLToPath(new URL("../node_modules/.cache/berth", import.meta.url)));
  return import("./berth.ts");
}

// Replaces this process by one with these flags, which cannot be changed later. No-op if it has them.
function restartWith(flags) {
  const missing = flags.filter((flag) => !process.execArgv.includes(flag));
  if (missing.length === 0 || !process.execve) return;
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...missing, ...process.argv.slice(1)], process.env);
}

function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? (signal === "SIGKILL" ? 137 : 1);
  });
}

function findPinnedNode() {
  const require = module.createRequire(import.meta.url);
  const here = `${process.platform}-${process.arch}`;
  for (const name of [`node-${here}`, `node-bin-${here}`]) {
    try {
      return join(require.resolve(`${name}/package.json`), "../bin/node");
    } catch {
      // It is not for this platform or not installed: try the next one.
    }
  }
  console.error(
    `berth: Node ${REQUIRED_MAJOR} or newer is required, but this is ${process.version}. Run \`npm install\` in the checkout, which installs one.`,
  );
  return process.exit(1);
}

#!/usr/bin/env node
// Berth runs its TypeScript as written, which needs Node 24. The pinned one comes with the dependencies: an older Node
// hands over to it and passes signals on.
import { spawn } from "node:child_process";
import * as module from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const WANTED = 24;

if (Number(process.versions.node.split(".")[0]) >= WANTED) {
  // Halves the time to start: what was compiled once is read the next time. Where it cannot be kept, nothing changes.
  module.enableCompileCache?.(fileURLToPath(new URL("../node_modules/.cache/berth", import.meta.url)));
  const { main } = await import("./berth.ts");
  process.exitCode = await main(process.argv.slice(2));
} else {
  handOver(findPinnedNode());
}

function handOver(node) {
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
      // Not for this machine, or not installed: the next one.
    }
  }
  console.error(
    `berth: Node ${WANTED} or newer is needed, this is ${process.version}. Run \`npm install\` in the checkout: it brings one along.`,
  );
  return process.exit(1);
}

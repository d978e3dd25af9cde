import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { stopServer } from "./running-server.ts";

async function startStubborn() {
  const child = spawn(process.execPath, ["-e", 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("ready")'], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(child.stdout, "data");
  return child;
}

test("a server that does not stop is named after the deadline, and killed only with force", async () => {
  const child = await startStubborn();
  const exited = once(child, "exit");
  await expect(stopServer(child.pid!, { timeoutMs: 200, force: false })).rejects.toThrow(
    `The server (process ${child.pid}) did not stop within 0.2 s, so nothing else was stopped. \`berth down --force\` kills it.`,
  );
  expect(child.exitCode ?? child.signalCode).toBeNull();
  await stopServer(child.pid!, { timeoutMs: 200, force: true });
  expect(await exited).toEqual([null, "SIGKILL"]);
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Session } from "@berth/contract";
import { isReady } from "./berth.ts";
import { leftOn, shareBerth } from "./shared-berth.ts";

test("files share a server, see only what is their own, and a session that one of them leaves is found", async () => {
  const [first, second] = [await shareBerth(), await shareBerth()];
  expect(second.url).toBe(first.url);
  const { sessionId, sandboxId } = await first.api.create({ autoStartAgent: false });
  expect((await second.api.call("GET", `/api/b2b/sessions/${sessionId}`)).status).toBe(404);
  expect((await leftOn(first)).map((path) => basename(path))).toEqual([sandboxId]);
  await first.api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
  await expect.poll(() => leftOn(first)).toEqual([]);
});

test("a server that dies is replaced, and a worker that is killed leaves neither server, sandbox nor folder behind", async () => {
  const worker = spawn(process.execPath, ["--input-type=module", "--eval", WORKER], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  onTestFinished(() => void worker.kill("SIGKILL"));
  worker.stdout.on("data", (chunk) => (text += String(chunk)));
  await expect.poll(() => text, { timeout: 60_000 }).toContain("\n");
  const { died, running, session } = JSON.parse(text) as Record<"died" | "running", { url: string; dataDir: string }> & {
    session: Session;
  };
  expect(existsSync(died.dataDir)).toBe(false);
  expect(running.url).not.toBe(died.url);
  expect(existsSync(join(running.dataDir, "sandboxes", session.sandboxId))).toBe(true);
  const ended = once(worker, "exit");
  worker.kill("SIGKILL");
  await ended;
  await expect.poll(() => existsSync(running.dataDir)).toBe(false);
  expect(await isReady(running.url)).toBe(false);
});

const modulePath = (path: string) => JSON.stringify(join(import.meta.dirname, path));
const WORKER = `
import { findServer } from ${modulePath("../../../cli/down/running-server.ts")};
import { shareBerth } from ${modulePath("shared-berth.ts")};
const died = await shareBerth();
process.kill(await findServer(died.dataDir), "SIGKILL");
const running = await shareBerth();
const session = await running.api.create({ autoStartAgent: false });
console.log(JSON.stringify({ died, running, session }));
`;

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { preferForOomKill } from "./oom-score.ts";
import { listProcesses } from "./process-table.ts";

test("processes that a command started before it got its score are chosen before the daemon too", async () => {
  const child = spawn("/bin/sh", ["-c", "sleep 60 & (sleep 60 & echo; wait)"], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  const exit = once(child, "exit");
  await once(child.stdout, "data");
  const family = listProcesses().filter(({ group }) => group === child.pid);
  preferForOomKill(child.pid);
  const scores = family.map(({ pid }) => readFileSync(`/proc/${pid}/oom_score_adj`, "utf8").trim());
  process.kill(-Number(child.pid), "SIGKILL");
  await exit;
  expect(scores).toEqual(["1000", "1000", "1000", "1000"]);
});

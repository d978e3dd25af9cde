import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { afterRunningTime } from "./running-time.ts";

test("a time elapses once, and not if it is cancelled", async () => {
  const elapsed: string[] = [];
  const cancel = afterRunningTime(20, () => elapsed.push("cancelled"));
  const startedMs = performance.now();
  await new Promise<void>((resolve) => afterRunningTime(50, () => (elapsed.push("one"), resolve())));
  expect(performance.now() - startedMs).toBeGreaterThan(45);
  expect(elapsed).toEqual(["cancelled", "one"]);
  cancel();
  afterRunningTime(5, () => elapsed.push("two"))();
  await sleep(20);
  expect(elapsed).toHaveLength(2);
});

test("time in which the process is frozen does not count", async () => {
  const script = `import { afterRunningTime } from ${JSON.stringify(join(import.meta.dirname, "running-time.ts"))};
    const startedMs = performance.now();
    console.log("started"); afterRunningTime(3000, () => console.log(performance.now() - startedMs));`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGSTOP");
  await sleep(3_200);
  child.kill("SIGCONT");
  // Two seconds of the freeze count at most.
  expect(Number(String((await once(child.stdout, "data"))[0]))).toBeGreaterThan(3_200 + 3_000 - 2_000 - 100);
  await once(child, "exit");
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { writeReproducer } from "./failures.ts";
import { runFuzz } from "./run.ts";
import { shrink } from "./shrink.ts";
import { defineTarget, type ServerSample, type World } from "./target.ts";

interface FaultyWorld extends World {
  url: string;
}

async function openFaultyWorld(): Promise<FaultyWorld> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "testing/faulty-server.ts")], { stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  let errors = "";
  child.stderr.on("data", (part) => (errors += String(part)));
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  const url = `http://127.0.0.1:${String(port).trim()}`;
  return {
    url,
    get isDown() {
      return child.exitCode !== null;
    },
    lastWords: async () => errors.split("\n").find((line) => line.startsWith("Error:")) ?? errors,
    sample: async () => (await (await fetch(`${url}/sample`)).json()) as ServerSample,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

interface Plan {
  path: string;
  padding: string;
}

const targetsFor = (paths: string[]) => (world: FaultyWorld) => [
  defineTarget<Plan>({
    name: "faulty",
    plan: fc.record({ path: fc.constantFrom(...paths), padding: fc.string() }),
    workers: 4,
    deadlineMs: 3_000,
    async run({ path, padding }, { signal }) {
      const response = await fetch(`${world.url}${path}?${encodeURIComponent(padding)}`, { signal }).catch(() => undefined);
      await response?.text();
      return response?.status === 500 ? { kind: "5xx", sentence: "500" } : undefined;
    },
  }),
];

test("a crash is detected, attributed to its case, minimised and saved", async () => {
  const setting = { open: openFaultyWorld, targets: targetsFor([...Array<string>(20).fill("/ok"), "/crash"]) };
  const { failures, cases } = await runFuzz({ ...setting, seed: 1, maxCases: 60, settleMs: 0 });
  expect(cases.get("faulty")).toBeGreaterThanOrEqual(60);
  expect(failures).toHaveLength(1);
  const [failure] = failures;
  expect(failure).toMatchObject({ target: "faulty", finding: { kind: "crash", sentence: "Error: a fault of the faulty server" } });
  expect(failure!.plan).toMatchObject({ path: "/crash" });
  failure!.minimal = await shrink(failure!, 1, setting);
  expect(failure!.minimal).toEqual({ path: "/crash", padding: "" });
  const folder = await mkdtemp(join(tmpdir(), "berth-fuzz-test-"));
  const path = await writeReproducer(folder, 1, failure!);
  expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ seed: 1, target: "faulty", plan: { path: "/crash", padding: "" } });
  await rm(folder, { recursive: true });
});

test("a response of 500 and a case that does not end are each reported once", async () => {
  const setting = { open: openFaultyWorld, targets: targetsFor(["/ok", "/ok", "/five", "/hang"]) };
  const { failures } = await runFuzz({ ...setting, seed: 1, maxCases: 24, settleMs: 0 });
  const seen = failures.map(({ finding, plan }) => `${finding.kind} of ${(plan as Plan).path}`);
  expect(new Set(seen)).toEqual(new Set(["5xx of /five", "hang of /hang"]));
  expect(seen).toHaveLength(2);
});

test("leaked file descriptors are reported, and a correct server has none", async () => {
  const leaking = await runFuzz({ open: openFaultyWorld, targets: targetsFor(["/leak"]), seed: 1, maxCases: 100, settleMs: 0 });
  expect(leaking.leaks).toEqual([expect.stringMatching(/^open files: \d+ more/)]);
  const sound = await runFuzz({ open: openFaultyWorld, targets: targetsFor(["/ok"]), seed: 1, maxCases: 100, settleMs: 0 });
  expect([sound.leaks, sound.failures]).toEqual([[], []]);
});

test("a case depends only on its seed", async () => {
  const { planOf } = await import("./run.ts");
  const [target] = targetsFor(["/a", "/b"])({} as FaultyWorld);
  const draw = (seed: number) => Array.from({ length: 20 }, (_, number) => planOf(target!, seed, number));
  expect(draw(1)).toEqual(draw(1));
  expect(draw(1)).not.toEqual(draw(2));
});

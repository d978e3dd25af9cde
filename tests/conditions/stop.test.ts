import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { startBerth } from "../support/servers/berth.ts";
import { createApi } from "../support/servers/api.ts";
import { IN_TERMINAL, runNpmStart, type NpmStart } from "../support/servers/npm-start.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { stopUnderClients } from "./kept-alive.ts";
import { GONE_MS, signalGroups, type Round } from "./group-signals.ts";

const KEY = `berth_${"ef".repeat(32)}`;

testWith(
  await machine.oci(),
  "SIGINT and SIGTERM to the process group end a server while sandboxes start, and the next one serves",
  async () => {
    await daemonRuntime();
    const rounds: Round[] = [];
    // `npm run signals` takes more moments.
    await signalGroups([1100, 1700, 2300], (round) => rounds.push(round));
    expect(rounds.map(({ unfinished }) => unfinished)).toEqual([null, null, null]);
  },
);

test("a stop answers every request on connections that clients keep open, also through the gateway", async () => {
  await using berth = await startBerth({ BERTH_DRIVER: "process" });
  for (let round = 0; round < 2; round++) {
    if (round > 0) await berth.start();
    const { answers, failures } = await stopUnderClients(berth);
    expect({ statuses: Object.keys(answers), failures }).toEqual({ statuses: ["200", "404"], failures: {} });
  }
});

// A runtime that hangs in every new sandbox until the folder's pipe `hang` is removed. The probe of a server that starts works: its
// result is not cached if another server has probed another runtime in the meantime.
function createHangingRuntime() {
  const folder = mkdtempSync(join(tmpdir(), "berth-runtime-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [runtime, pipe] = [join(folder, "runc"), join(folder, "hang")];
  const runc = execFileSync("which", ["runc"], { encoding: "utf8" }).trim();
  const hang = `[ -p ${pipe} ] && case " $* " in *" probe-"*) ;; *" run "*) trap "" INT TERM; : < ${pipe};; esac`;
  writeFileSync(runtime, `#!/bin/sh\n${hang}\nexec ${runc} "$@"\n`);
  chmodSync(runtime, 0o755);
  return { folder, hang: () => void execFileSync("mkfifo", [pipe]), release: () => rmSync(pipe) };
}

async function createThatHangs(server: NpmStart): Promise<void> {
  await expect.poll(server.isReady).toBe(true);
  createApi(server.url, KEY)
    .create({ autoStartAgent: false })
    .catch(() => {});
  const isCreating = () =>
    createApi(server.url, KEY)
      .call("GET", "/metrics")
      .then(({ body }) => /^berth_sessions\{state="creating"\} 1$/m.test(body));
  await expect.poll(isCreating).toBe(true);
}

testWith(await machine.oci(), "a stop that hangs names what is unfinished and ends, and a second Ctrl-C ends it at once", async () => {
  await daemonRuntime();
  const { folder, hang, release } = createHangingRuntime();
  const settings = { BERTH_DRIVER: "oci", PATH: `${folder}:${process.env.PATH}`, BERTH_API_KEY: KEY };
  const first = await runNpmStart(`${IN_TERMINAL} npm start`, settings);
  await using _ = first;
  const again = { ...settings, BERTH_DATA_DIR: first.dataDir };
  await expect.poll(first.isReady).toBe(true);
  hang();
  await createThatHangs(first);
  first.type("\x03");
  await expect.poll(first.output).toContain("server.stopping");
  await delay(700);
  const pressedMs = performance.now();
  first.type("\x03");
  await first.ended();
  expect(performance.now() - pressedMs).toBeLessThan(5_000);

  const second = await runNpmStart("npm start", again);
  await createThatHangs(second);
  const signalledMs = performance.now();
  second.signalGroup("SIGTERM");
  await second.ended();
  expect(performance.now() - signalledMs).toBeLessThan(GONE_MS);
  expect(second.output()).toMatch(/"unfinished":\["creating ses_\w+"\],"msg":"server.stop_timed_out"/);

  release();
  const third = await runNpmStart("npm start", again);
  await expect.poll(third.isReady).toBe(true);
  const api = createApi(third.url, KEY);
  const { sandboxId } = await api.create({ autoStartAgent: false });
  expect((await api.exec(sandboxId, "echo serves")).stdout).toBe("serves\n");
  third.signalGroup("SIGTERM");
  await third.ended();
});

import { createHash } from "node:crypto";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { newId, type SandboxId, type Template } from "@berth/contract";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { describeWith, machine, testWith, type Missing } from "../../../tests/support/machine.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import type { Driver, SandboxSpec } from "../driver.ts";
import { volumesSuite } from "./volumes.suite.ts";

export interface SuiteDriver {
  driver: Driver;
  // Opens another driver for the same installation, as a server does after a restart.
  reopen(): Promise<Driver>;
  // Removes everything that the installation of the suite has created.
  dispose(): Promise<void>;
  // The processes, mounts, control groups and files of a sandbox that still exist.
  remainingResources(id: SandboxId): Promise<string[]>;
}

export interface SuiteOptions {
  // Why this driver cannot run on this machine.
  missing?: Missing;
  // Slow engines need more time.
  testTimeoutMs?: number;
  // How the sandboxes differ from the default template.
  template?: Partial<Template>;
  // Why the storage of this driver cannot take snapshots.
  snapshotsMissing?: string;
  // Why this driver has no volumes.
  volumesMissing?: Missing;
  // A variant of a driver whose other suite is complete. It runs only the tests in which variants differ, unless
  // BERTH_TEST_DRIVERS=all.
  isVariant?: boolean;
  // The volumes of the variant are of another kind, so it runs all of their tests.
  volumesDiffer?: boolean;
  // The limits of a running sandbox can change.
  hasLiveLimits?: boolean;
  // The daemon listens on the network, not on a socket file.
  overNetwork?: boolean;
}

const TOKEN = "a token of the suite";

// Tests the contract in driver.ts. Every driver runs the suite with its real engine and the real daemon.
export function driverSuite(
  name: string,
  makeDriver: () => Promise<SuiteDriver>,
  {
    missing,
    testTimeoutMs,
    template = {},
    snapshotsMissing,
    volumesMissing,
    isVariant = false,
    volumesDiffer = false,
    hasLiveLimits = false,
    overNetwork = false,
  }: SuiteOptions = {},
): void {
  const options = testTimeoutMs === undefined ? {} : { timeout: testTimeoutMs };
  const sameInVariants = machine.sameInVariants(isVariant);
  describeWith(missing, `${name} driver`, options, () => {
    let suite: SuiteDriver;
    let driver: Driver;
    const createdIds = new Set<SandboxId>();

    beforeAll(async () => {
      suite = await makeDriver();
      driver = suite.driver;
    });
    afterEach(async () => {
      for (const id of createdIds) await driver.destroy(id, deadline());
      createdIds.clear();
    });
    afterAll(async () => {
      await driver[Symbol.asyncDispose]();
      await suite.dispose();
    });

    const newSpec = (): SandboxSpec => {
      const id = newId("sbx", Date.now());
      createdIds.add(id);
      const tokenHash = createHash("sha256").update(TOKEN).digest("hex");
      return { id, template: { ...DEFAULT_TEMPLATE, diskMb: 256, ...template }, tokenHash };
    };
    const created = async () => {
      const spec = newSpec();
      await driver.create(spec, deadline());
      return spec;
    };
    const sh = (id: SandboxId, command: string) => exec(driver, id, command);

    test("a created sandbox runs, answers only with its token, is listed, and has statistics; a repeated create finds it", async () => {
      const spec = await created();
      const { id } = spec;
      expect(await sh(id, "echo kept > note; echo $((6 * 7))")).toBe("42\n");
      expect(await postExec(driver, id, "echo no", "another token")).toMatchObject({ status: 401 });
      expect(await driver.inspect(id, deadline())).toBe("running");
      expect(await driver.list(deadline())).toContainEqual({ id, condition: "running" });
      const stats = await driver.stats(id, deadline());
      expect([stats.memoryBytes, stats.cpuMs, stats.pids].filter((value) => value !== null && !(value > 0))).toEqual([]);
      await driver.create(spec, deadline());
      expect(await sh(id, "cat note")).toBe("kept\n");
    });

    testWith(sameInVariants, "two concurrent creates of the same sandbox create one sandbox", async () => {
      const spec = newSpec();
      await Promise.all([driver.create(spec, deadline()), driver.create(spec, deadline())]);
      expect((await driver.list(deadline())).filter(({ id }) => id === spec.id)).toEqual([{ id: spec.id, condition: "running" }]);
    });

    testWith(sameInVariants, "a paused sandbox does not run until it is resumed, and both calls are idempotent", async () => {
      const spec = await created();
      await sh(spec.id, "(while :; do echo x >> ticks; sleep 0.02; done) > /dev/null 2>&1 &");
      await driver.pause(spec.id, deadline());
      await driver.pause(spec.id, deadline());
      const paused = await driver.inspect(spec.id, deadline());
      expect(paused).toBe(driver.traits.freezes ? "frozen" : "stopped");
      const { restarted } = await driver.resume(spec, deadline());
      expect(restarted).toBe(!driver.traits.freezes);
      expect(await driver.resume(spec, deadline())).toEqual({ restarted: false });
      expect(await driver.inspect(spec.id, deadline())).toBe("running");
      if (driver.traits.freezes) {
        // The loop may have been paused before its first tick.
        const ticks = async () => Number(await sh(spec.id, "cat ticks 2> /dev/null | wc -c"));
        const before = await ticks();
        await expect.poll(ticks).toBeGreaterThan(before);
      }
      expect(await sh(spec.id, "echo ok")).toBe("ok\n");
    });

    if (hasLiveLimits)
      testWith(
        sameInVariants,
        "limits change while a sandbox runs or is frozen, and a stopped one has those of its next start",
        async () => {
          const { change: changeTo, heldMemoryBytes } = driver.liveLimits!;
          const spec = await created();
          const { id } = spec;
          const change = (memoryMb: number) => changeTo(id, { memoryMb, cpus: 0.5 }, deadline());
          await change(300);
          await change(300);
          expect(await heldMemoryBytes(id, deadline())).toBeGreaterThan(0);
          await driver.pause(id, deadline());
          await change(400);
          const resized = { ...spec, template: { ...spec.template, memoryMb: 400, cpus: 0.5 } };
          expect(await driver.resume(resized, deadline())).toEqual({ restarted: false });
          expect(await sh(id, "echo ok")).toBe("ok\n");
          await driver.hibernate(id, deadline());
          await change(300);
          expect(await heldMemoryBytes(id, deadline())).toBe(0);
          expect(await driver.resume(resized, deadline())).toEqual({ restarted: true });
        },
      );

    test("hibernate keeps the files of workspace and home, and ends all processes, also of a paused sandbox", async () => {
      const spec = await created();
      await sh(spec.id, "echo mine > note; echo settings > ~/.settings; sleep 86391 > /dev/null 2>&1 &");
      await driver.hibernate(spec.id, deadline());
      expect(await driver.inspect(spec.id, deadline())).toBe("stopped");
      await driver.hibernate(spec.id, deadline());
      expect(await driver.resume(spec, deadline())).toEqual({ restarted: true });
      expect(await sh(spec.id, "cat note ~/.settings")).toBe("mine\nsettings\n");
      expect(await sh(spec.id, "pgrep -cf 'slee[p] 86391' || true")).toBe("0\n");
      if (!sameInVariants) {
        await driver.pause(spec.id, deadline());
        await driver.hibernate(spec.id, deadline());
        await driver.resume(spec, deadline());
        expect(await sh(spec.id, "cat note")).toBe("mine\n");
        // A sandbox whose session was lost gets another one, with another token.
        await driver.hibernate(spec.id, deadline());
        await driver.resume({ ...spec, tokenHash: createHash("sha256").update("another token").digest("hex") }, deadline());
        expect(await postExec(driver, spec.id, "cat note", "another token")).toMatchObject({ status: 200 });
        expect(await postExec(driver, spec.id, "cat note", TOKEN)).toMatchObject({ status: 401 });
      }
    });

    test("a restarted server finds every sandbox in its condition; destroy removes everything in every condition, and is idempotent", async () => {
      const [running, paused, stopped] = await Promise.all([created(), created(), created()]);
      await sh(running.id, "echo secret > note; sleep 1000 > /dev/null 2>&1 &");
      await driver.pause(paused.id, deadline());
      await driver.hibernate(stopped.id, deadline());
      const other = await suite.reopen();
      const found = new Map((await other.list(deadline())).map(({ id, condition }) => [id, condition]));
      expect(found.get(running.id)).toBe("running");
      expect(found.get(paused.id)).toBe(driver.traits.freezes ? "frozen" : "stopped");
      expect(found.get(stopped.id)).toBe("stopped");
      expect(await exec(other, running.id, "cat note")).toBe("secret\n");
      await other.resume(paused, deadline());
      // A sandbox does not see the files of another one.
      expect(await exec(other, paused.id, "ls; cat note 2> /dev/null || echo none")).toBe("none\n");
      await other.pause(paused.id, deadline());
      await other[Symbol.asyncDispose]();
      for (const { id } of [running, paused, stopped]) {
        await driver.destroy(id, deadline());
        await driver.destroy(id, deadline());
        expect(await driver.inspect(id, deadline())).toBe("absent");
        expect(await suite.remainingResources(id)).toEqual([]);
      }
      expect(await driver.list(deadline())).toEqual([]);
    });

    testWith(sameInVariants, "a sandbox that was never created is absent", async () => {
      const { id } = newSpec();
      expect(await driver.inspect(id, deadline())).toBe("absent");
      await driver.destroy(id, deadline());
      await expect(driver.dial(id, deadline())).rejects.toMatchObject({ code: "sandbox_unreachable" });
    });

    test("an aborted create leaves nothing behind", async () => {
      for (const delayMs of [0, 5, 20, 50]) {
        const spec = newSpec();
        const signal = AbortSignal.timeout(delayMs);
        const outcome = await driver.create(spec, signal).then(
          () => "created",
          () => "aborted",
        );
        if (outcome === "created") continue;
        expect(await driver.inspect(spec.id, deadline())).toBe("absent");
        expect(await suite.remainingResources(spec.id)).toEqual([]);
      }
    });

    testWith(snapshotsMissing, "a snapshot has the files of one moment, and sandboxes start with them", async () => {
      const spec = await created();
      await sh(spec.id, "mkdir app; echo one > app/note; ln -s app/note link; echo settings > ~/.settings");
      const snapshotId = newId("snp", Date.now());
      const { bytes } = await driver.takeSnapshot(spec.id, snapshotId, deadline());
      expect(bytes ?? 1).toBeGreaterThan(0);
      expect(await driver.inspect(spec.id, deadline())).toBe("running");
      await sh(spec.id, "echo two > app/note; echo more > ~/.settings; sync");
      const fork = newSpec();
      await driver.create({ ...fork, snapshot: snapshotId }, deadline());
      await driver.deleteSnapshot(snapshotId, deadline());
      await driver.deleteSnapshot(snapshotId, deadline());
      expect(await driver.listSnapshots(deadline())).toEqual([]);
      expect(await sh(fork.id, "cat link ~/.settings; echo mine >> app/note; tail -1 app/note")).toBe("one\nsettings\nmine\n");
      expect(await sh(spec.id, "cat app/note")).toBe("two\n");

      // Frozen and stopped sandboxes have snapshots too, and stay as they are.
      const snapshotIds = [newId("snp", 1), newId("snp", 2)];
      for (const [i, stop] of (["pause", "hibernate"] as const).entries()) {
        await driver[stop](spec.id, deadline());
        const before = await driver.inspect(spec.id, deadline());
        expect(await driver.takeSnapshot(spec.id, snapshotIds[i]!, deadline())).toMatchObject({ frozenMs: 0 });
        expect(await driver.inspect(spec.id, deadline())).toBe(before);
      }
      expect((await driver.listSnapshots(deadline())).toSorted()).toEqual(snapshotIds.toSorted());
      const later = newSpec();
      await driver.create({ ...later, snapshot: snapshotIds[0] }, deadline());
      expect(await sh(later.id, "cat link")).toBe("two\n");
      for (const id of snapshotIds) await driver.deleteSnapshot(id, deadline());
    });

    testWith(snapshotsMissing, "a sandbox does not start without the files of its snapshot", async () => {
      const spec = newSpec();
      await expect(driver.create({ ...spec, snapshot: newId("snp", Date.now()) }, deadline())).rejects.toMatchObject({
        code: "sandbox_failed",
      });
      expect(await driver.inspect(spec.id, deadline())).toBe("absent");
    });

    volumesSuite({ missing: volumesMissing, same: volumesDiffer ? undefined : sameInVariants }, () => ({ driver, newSpec }), exec);

    const noSocketFile = overNetwork ? "the daemon listens on the network" : undefined;
    testWith([noSocketFile, sameInVariants], "a socket that was replaced by a symbolic link is not followed", async () => {
      const { id } = await created();
      const socket = (await sh(id, "tr '\\0' '\\n' < /proc/$PPID/environ | sed -n 's/^BERTH_SOCKET=//p'")).trim();
      const path = socket.startsWith("/") ? socket : `$(readlink /proc/$PPID/cwd)/${socket}`;
      await sh(id, `mv "${path}" "${path}.away" && ln -s "${path}.away" "${path}"`);
      await expect(driver.dial(id, deadline())).rejects.toMatchObject({ code: "sandbox_unreachable" });
    });
  });
}

const deadline = () => AbortSignal.timeout(60_000);

// Runs a command through the daemon and returns its output.
export async function exec(driver: Driver, id: SandboxId, command: string, token = TOKEN): Promise<string> {
  const { status, body } = await postExec(driver, id, command, token);
  if (status !== 200) throw new Error(`exec answered ${status}: ${body}`);
  return body;
}

async function postExec(driver: Driver, id: SandboxId, command: string, token: string): Promise<{ status: number; body: string }> {
  const socket = await driver.dial(id, deadline());
  const headers = { "content-type": "application/json", "x-berth-token": token, connection: "close" };
  return await new Promise((resolve, reject) => {
    const outgoing = request({ method: "POST", path: "/exec?format=text", headers, createConnection: () => socket }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    outgoing.once("error", reject);
    outgoing.end(JSON.stringify({ command }));
  });
}

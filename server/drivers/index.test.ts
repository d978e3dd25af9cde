import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readConfig } from "../config/config.ts";
import { silentLog, type Log } from "../log.ts";
import { openDriver, probeDrivers } from "./index.ts";
import { createProcessDriver } from "./process/process.ts";

let dataDir: string;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), "berth-drivers-"));
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const configure = (env: Record<string, string>) => readConfig({ BERTH_DATA_DIR: dataDir, ...env }).config;

test("auto uses the first driver that works and logs the reason", async () => {
  const config = configure({});
  const probes = await probeDrivers(config);
  const logged: object[] = [];
  const log: Log = { ...silentLog, info: (_event, fields) => void logged.push(fields ?? {}) };
  await using driver = await openDriver(config, log);
  expect(driver.name).toBe(probes.find(({ usable }) => usable)?.driver);
  expect(logged).toMatchObject([{ driver: driver.name, reason: expect.stringMatching(/\.$/) }]);
});

test("every probe explains its result in full sentences, in the order of auto", async () => {
  const probes = await probeDrivers(configure({}));
  expect(probes.map(({ driver }) => driver)).toEqual(["oci", "docker", "process"]);
  for (const { reason } of probes) expect(reason).toMatch(/^\S.*\.$/s);
});

test("auto never falls back to plain processes when the base URL is public", async () => {
  // No other driver works: the OCI runtime is not installed, and no Docker Engine listens at this socket.
  const noEngine = { BERTH_OCI_RUNTIME: "runsc", BERTH_DOCKER_SOCKET: join(dataDir, "no-engine.sock") };
  const local = await probeDrivers(configure(noEngine));
  const onLoopback = local.filter(({ usable }) => usable).map(({ driver }) => driver);
  const behindProxy = await probeDrivers(configure({ ...noEngine, BERTH_BASE_URL: "https://berth.example.com" }));
  const usable = behindProxy.filter((probe) => probe.usable).map(({ driver }) => driver);
  expect(onLoopback).toContain("process");
  expect(usable).toEqual(onLoopback.filter((driver) => driver !== "process"));
  expect(behindProxy.at(-1)!.reason).toMatch(/BERTH_BASE_URL is https:\/\/berth\.example\.com/);
});

test("plain processes are refused if other machines can reach the server, and the error names the override", async () => {
  const refused = openDriver(configure({ BERTH_DRIVER: "process", BERTH_HOST: "0.0.0.0" }), silentLog);
  await expect(refused).rejects.toThrow(/The driver process cannot be used: .*BERTH_ALLOW_UNISOLATED=1/);
  await using driver = await openDriver(
    configure({ BERTH_DRIVER: "process", BERTH_HOST: "0.0.0.0", BERTH_ALLOW_UNISOLATED: "1" }),
    silentLog,
  );
  expect(driver.traits.isolates).toBe(false);
});

test("another build of the daemon is another recipe, so that an upgraded server replaces the warm sandboxes", async () => {
  const recipeOf = async (build: string) => {
    writeFileSync(join(dataDir, ".sources"), build);
    await using driver = createProcessDriver({ dataDir, runtimeDir: dataDir, log: silentLog });
    return driver.traits.recipe;
  };
  const [old, upgraded] = [await recipeOf("one"), await recipeOf("two")];
  expect(old).not.toBe(upgraded);
  expect(await recipeOf("one")).toBe(old);
});

test("auto leaves an installation with plain processes as it is", async () => {
  const folder = join(dataDir, "plain");
  mkdirSync(join(folder, "sandboxes/sbx_1"), { recursive: true });
  const oci = async (driver: string) =>
    (await probeDrivers(configure({ BERTH_DATA_DIR: folder, BERTH_DRIVER: driver }))).find((probe) => probe.driver === "oci");
  writeFileSync(join(folder, "sandboxes/sbx_1/daemon.pid"), "");
  expect(await oci("auto")).toMatchObject({ usable: false, reason: expect.stringMatching(/plain processes/) });
  expect((await oci("oci"))?.reason).not.toMatch(/plain processes/);
});

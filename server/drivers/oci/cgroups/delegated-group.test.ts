import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { machine, testWith } from "../../../../tests/support/machine.ts";
import { claimDelegatedGroup } from "./delegated-group.ts";

const yes = async () => true;

// A folder that looks like the group of a unit, because not every machine has the controllers in version 2.
function makeUnit(controllers: string): { hierarchy: string; own: string; read(file: string): string } {
  const hierarchy = mkdtempSync(join(tmpdir(), "berth-cgroup-"));
  onTestFinished(() => rmSync(hierarchy, { recursive: true }));
  mkdirSync(join(hierarchy, "app.slice/one.scope"), { recursive: true });
  const files = { "cgroup.controllers": `${controllers}\n`, "cgroup.procs": "", "cgroup.subtree_control": "" };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(hierarchy, "app.slice/one.scope", name), text);
  return { hierarchy, own: "/app.slice/one.scope", read: (file) => readFileSync(join(hierarchy, "app.slice/one.scope", file), "utf8") };
}

test("the group of a delegated unit gets the controllers that limit sandboxes, and a repeated claim finds the same group", async () => {
  const unit = makeUnit("cpu io memory pids");
  const group = { path: "/app.slice/one.scope", limitsCpu: true };
  expect(await claimDelegatedGroup({ ...unit, isDelegated: yes })).toEqual({ group });
  expect(unit.read("cgroup.subtree_control")).toBe("+memory +pids +cpu");
  expect(await claimDelegatedGroup({ ...unit, own: `${unit.own}/berth-server`, isDelegated: yes })).toEqual({ group });
});

test("processor time is not limited if systemd gives only memory and processes", async () => {
  const unit = makeUnit("memory pids");
  expect(await claimDelegatedGroup({ ...unit, isDelegated: yes })).toMatchObject({ group: { limitsCpu: false } });
  expect(unit.read("cgroup.subtree_control")).toBe("+memory +pids");
});

test("a group that is not delegated, lacks a controller or does not exist is not touched", async () => {
  const [own, poor] = [makeUnit("memory pids"), makeUnit("cpu pids")];
  expect(await claimDelegatedGroup({ ...own, isDelegated: async () => false })).toHaveProperty("missing");
  expect(await claimDelegatedGroup({ ...poor, isDelegated: yes })).toEqual({ missing: expect.stringContaining("memory") });
  expect(await claimDelegatedGroup({ ...own, own: "/none.scope", isDelegated: yes })).toHaveProperty("missing");
  expect([own, poor].map(({ read }) => read("cgroup.subtree_control"))).toEqual(["", ""]);
});

const unified = "/sys/fs/cgroup/unified";
testWith([machine.root, machine.cgroup(unified)], "the processes of the unit move to a group inside it", async () => {
  const own = `/berth-test-${process.pid}.scope`;
  const folder = join(unified, own);
  mkdirSync(folder);
  const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
  const ended = once(child, "exit");
  try {
    writeFileSync(join(folder, "cgroup.procs"), String(child.pid));
    expect(await claimDelegatedGroup({ hierarchy: unified, own, needed: [], isDelegated: yes })).toHaveProperty("group");
    expect(readFileSync(join(folder, "cgroup.procs"), "utf8")).toBe("");
    expect(readFileSync(join(folder, "berth-server/cgroup.procs"), "utf8")).toBe(`${child.pid}\n`);
  } finally {
    child.kill("SIGKILL");
    await ended;
    for (const path of [join(folder, "berth-server"), folder]) if (existsSync(path)) rmdirSync(path);
  }
});

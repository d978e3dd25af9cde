import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Run } from "@berth/contract/daemon/runs.ts";
import { openOutbox } from "../../processes/outbox.ts";
import { createEnvironment } from "../../programs/environment.ts";
import { parseRun } from "./parse-run.ts";
import { createRunStore } from "./run-store.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "berth-runs-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const ID = `run_${"0".repeat(26)}`;

function open({ isKilled = false } = {}) {
  const outbox = openOutbox(join(folder, "outbox"));
  outbox.load();
  const add = isKilled ? () => void expect.fail("killed") : outbox.add;
  return { outbox, store: createRunStore({ folder: join(folder, "runs"), outbox: { add } }) };
}

function aRecord() {
  const setupEnv = () => ({});
  const environment = createEnvironment({ base: {}, workspace: "/", home: "/", proxyUrl: () => undefined, setupEnv });
  return parseRun(ID, {}, { text: "Hi", files: [], images: [] }, environment);
}

const news = ({ outbox }: ReturnType<typeof open>) =>
  outbox.list().map(({ id, type, data }) => ({ id, type, status: (data as Partial<Run>).status }));

test("a daemon that is killed between a change and its report reports it after the restart, once", () => {
  const killed = open({ isKilled: true });
  const record = aRecord();
  killed.store.add(record);
  expect(() => killed.store.change(record, { status: "succeeded", endedAt: "now" }, "run.finished")).toThrow("killed");

  const next = open();
  next.store.load();
  const [report] = news(next);
  expect([report?.type, report?.status, next.store.countOpen()]).toEqual(["run.finished", "succeeded", 0]);
  // Again before the server has recorded it, and after.
  const again = open();
  again.store.load();
  expect(news(again)).toEqual([report]);
  again.outbox.remove([report?.id ?? ""]);
  const last = open();
  last.store.load();
  expect(news(last)).toEqual([]);
});

test("a run that was killed while it worked is lost, with a later revision than all its reports", () => {
  const before = open();
  const record = aRecord();
  before.store.add(record);
  before.store.change(record, { status: "running" }, "run.started");
  // It was killed before it could report the question.
  const killed = createRunStore({ folder: join(folder, "runs"), outbox: { add: () => expect.fail("killed") } });
  expect(() => killed.change(structuredClone(record), { status: "needs_input" }, "run.needs_input")).toThrow("killed");
  const after = open();
  after.store.load();
  expect(news(after).map(({ type, status }) => `${type} ${status}`)).toEqual(["run.started running", "run.finished lost"]);
  const revisions = after.outbox.list().map(({ data }) => Number(data["revision"]));
  // The one between was saved, but not reported.
  expect(revisions).toEqual([2, 4]);
});

test("a run that cannot be saved is not accepted", () => {
  writeFileSync(join(folder, "runs"), "not a folder");
  const { store } = open();
  expect(() => store.add(aRecord())).toThrow(/ENOTDIR|EEXIST/);
  expect(store.list()).toEqual([]);
});

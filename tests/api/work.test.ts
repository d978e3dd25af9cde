import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, machine } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";

// How much work a call is, as numbers that do not depend on the machine's speed. A change that needs more of it fails here; lower a
// number when a change needs less.
const AT_MOST: Record<string, Work> = {
  create: { queries: 11, syncs: 2, programs: 2 },
  "GET session": { queries: 1, syncs: 0, programs: 0 },
  list: { queries: 1, syncs: 0, programs: 0 },
  exec: { queries: 2, syncs: 0, programs: 0 },
  "start of a process": { queries: 1, syncs: 0, programs: 0 },
  "launch-url": { queries: 2, syncs: 1, programs: 0 },
  pause: { queries: 8, syncs: 1, programs: 0 },
  resume: { queries: 9, syncs: 1, programs: 0 },
  DELETE: { queries: 9, syncs: 3, programs: 0 },
};

interface Work {
  queries: number;
  // Syncs of files by the server itself, its database included.
  syncs: number;
  // Processes that the server starts.
  programs: number;
}

// The server's timers add work of their own. The smallest of several counts is the call's; a busy machine needs more of them.
const ROUNDS = 4;
const MAX_ROUNDS = 16;

describeWith(await machine.oci(), "work of a call", () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-work-"));
  const file = join(folder, "counts");
  let berth: Berth;

  beforeAll(async () => {
    writeFileSync(file, "");
    const preload = join(import.meta.dirname, "../support/servers/count-work.ts");
    berth = await startBerth({ BERTH_COUNT_FILE: file, NODE_OPTIONS: `--import=${preload}`, BERTH_DRIVER: "oci" });
  });
  afterAll(async () => {
    await berth?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  test("no call needs more queries, syncs or programs than it did", async () => {
    const counts = new Map<string, string[][]>();
    const count = (name: string, method: string, path: string, body?: object) => countCall(name, method, `/api/b2b/sessions${path}`, body);
    const countCall = async (name: string, method: string, path: string, body?: object) => {
      truncateSync(file);
      const response = await berth.api.call(method, path, body);
      expect(response.status).toBeLessThan(300);
      counts.set(name, [...(counts.get(name) ?? []), readFileSync(file, "utf8").split("\n")]);
      return response.body as { sessionId: string; sandboxId: string };
    };
    const least = () => Object.fromEntries([...counts].map(([name, rounds]) => [name, leastWork(rounds)]));
    const findGrown = (work = least()) =>
      KINDS.flatMap((kind) => Object.keys(AT_MOST).filter((name) => work[name]![kind] > AT_MOST[name]![kind]));
    for (let round = 0; round < ROUNDS || (round < MAX_ROUNDS && findGrown().length > 0); round++) {
      const { sessionId, sandboxId } = await count("create", "POST", "", { externalUserId: "user-1", autoStartAgent: false });
      await count("GET session", "GET", `/${sessionId}`);
      await count("list", "GET", "");
      await countCall("exec", "POST", `/sandboxes/${sandboxId}/exec`, { command: "true" });
      await countCall("start of a process", "POST", `/sandboxes/${sandboxId}/processes`, { command: "true" });
      await count("launch-url", "POST", `/${sessionId}/launch-url`);
      await count("pause", "POST", `/${sessionId}/pause`);
      await count("resume", "POST", `/${sessionId}/resume`, { autoStartAgent: false });
      await count("DELETE", "DELETE", `/${sessionId}`);
    }
    const grown = findGrown();
    for (const name of grown) console.log(`${name} needed ${JSON.stringify(least()[name])}:\n${counts.get(name)!.at(-1)!.join("\n")}`);
    expect(grown).toEqual([]);
    // A counter that counts nothing would pass.
    for (const kind of KINDS) expect(least()["create"]![kind]).toBeGreaterThan(0);
  });
});

const KINDS = ["queries", "syncs", "programs"] as const;

// These depend on the time: a create that waits for its sandbox looks for a warm one in the meantime, cached keys expire, and
// webhooks are sent and the disks of destroyed sandboxes unmounted after the response.
const TIMED = /select "id" from "sessions" where "state" = \? and "template"|data_version|from "keys"|webhook_|program umount/;

function leastWork(rounds: readonly (readonly string[])[]): Work {
  const countStarting = (lines: readonly string[], start: string) =>
    lines.filter((line) => line.startsWith(start) && !TIMED.test(line)).length;
  // Timers that an earlier request has started count for that one.
  const ofRequest = (kind: string) => (lines: readonly string[]) => {
    const newest = Math.max(...lines.map((line) => Number(/^(\d+) /.exec(line)?.[1] ?? 0)));
    return countStarting(lines, `${newest} ${kind}`);
  };
  const ofServer = (kind: string) => (lines: readonly string[]) => countStarting(lines, kind);
  const least = (countOf: (lines: readonly string[]) => number) => Math.min(...rounds.map(countOf));
  return { queries: least(ofRequest("query")), syncs: least(ofRequest("sync")), programs: least(ofServer("program")) };
}

import { expect } from "vitest";
import type { Journey } from "./journey.ts";

const quiet = { autoStartAgent: false };
const BYTES = Buffer.from(Array.from({ length: 5_000 }, (_, at) => at % 128)).toString("latin1");

// Journeys with one session. `$user` is a user of the client's own, and `shared` a session that no journey ends.
export const SESSION_JOURNEYS: Journey[] = [
  {
    name: "a session is created, used, paused, resumed, found again and destroyed",
    steps: [
      {
        call: "berth.sessions.create",
        options: { externalUserId: "$user", metadata: { my_plan: "pro" }, envVars: { MY_GREETING: "hello" }, ...quiet },
        keep: "session",
        gives: { status: "running", sandboxUrl: expect.stringContaining("/sandboxes/sbx_") },
      },
      {
        call: "session.exec",
        args: ["echo $MY_GREETING; echo oops >&2; exit 3"],
        gives: { stdout: "hello\n", stderr: "oops\n", exitCode: 3, signal: null, timedOut: false },
      },
      { call: "session.pause", gives: { status: "paused" } },
      { call: "session.pause", throws: { name: "SessionConflictError", code: "session_already_paused" } },
      { call: "session.exec", args: ["true"], throws: { name: "SessionConflictError", code: "session_paused" } },
      { call: "session.resume", options: quiet, gives: { status: "running" } },
      {
        call: "berth.sessions.get",
        args: ["$session.sessionId"],
        keep: "again",
        gives: { externalUserId: "$user", metadata: { my_plan: "pro" }, template: "default" },
      },
      {
        call: "again.update",
        options: { metadata: { plan: "max" }, idleTimeoutMs: 900_000 },
        gives: { metadata: { plan: "max" }, idleTimeoutMs: 900_000 },
      },
      { call: "again.update", options: { idleTimeoutMs: null }, gives: { metadata: { plan: "max" }, idleTimeoutMs: null } },
      { call: "session.launchUrl", gives: { url: expect.stringContaining("/workspace/?s="), expiresAt: expect.any(Number) } },
      {
        call: "session.launchUrl",
        options: { role: "viewer", displayName: "Ada" },
        gives: { url: expect.stringContaining("name=Ada"), role: "viewer" },
      },
      { call: "session.destroy", gives: { status: "destroyed" } },
      { call: "session.destroy", gives: { status: "destroyed" } },
      { call: "berth.sessions.destroy", args: ["$session.sessionId"] },
      { call: "session.launchUrl", throws: { name: "SessionNotFoundError", status: 404 } },
    ],
  },
  {
    name: "files are written and read, and a write with an old ETag fails",
    steps: [
      { call: "shared.files.write", args: ["data/blob.bin", BYTES], gives: { path: "data/blob.bin", size: BYTES.length } },
      { call: "shared.files.read", args: ["data/blob.bin"], gives: BYTES },
      { call: "shared.files.readStream", args: ["data/blob.bin"], check: (chunks: string[]) => expect(chunks.join("")).toBe(BYTES) },
      { call: "shared.files.archive", check: (chunks: string[]) => expect(chunks.join("")).toMatch(/^PK/) },
      { call: "shared.files.write", args: ["src/grüße.txt", "hallo\n"], keep: "written" },
      { call: "shared.files.readText", args: ["src/grüße.txt"], gives: "hallo\n" },
      { call: "shared.files.write", args: ["src/grüße.txt", "hallo du\n"], options: { ifMatch: "$written.etag" } },
      {
        call: "shared.files.write",
        args: ["src/grüße.txt", "late\n"],
        options: { ifMatch: "$written.etag" },
        throws: { name: "FileConflictError" },
      },
      { call: "shared.files.write", args: ["src/grüße.txt", "new\n"], options: { create: true }, throws: { name: "FileConflictError" } },
      { call: "shared.files.makeFolder", args: ["src/deep/er"] },
      { call: "shared.files.move", args: ["src/grüße.txt", "src/deep/greetings.txt"] },
      { call: "shared.files.list", args: ["src"], gives: [{ name: "deep", type: "folder" }] },
      { call: "shared.files.exists", args: ["src/deep/greetings.txt"], gives: true },
      { call: "shared.files.exists", args: ["nowhere/at/all"], gives: false },
      { call: "shared.home.write", args: ["/tmp/of the sandbox/note.txt", "elsewhere\n"] },
      { call: "shared.home.exists", args: ["/tmp/of the sandbox"], gives: true },
      { call: "shared.home.exists", args: ["/"], gives: true },
      { call: "shared.home.move", args: ["/tmp/of the sandbox/note.txt", "note.txt"] },
      { call: "shared.exec", args: ["cat ~/note.txt"], gives: { stdout: "elsewhere\n" } },
      { call: "shared.home.remove", args: ["/tmp/of the sandbox"] },
      { call: "shared.home.exists", args: ["/tmp/of the sandbox"], gives: false },
      { call: "shared.files.remove", args: ["src"] },
      { call: "shared.files.readText", args: ["src/deep/greetings.txt"], throws: { name: "FileNotFoundError", code: "not_found" } },
      { call: "shared.exec", args: ["ls"], gives: { stdout: "data\n" } },
    ],
  },
  {
    name: "output streams while a command runs, and leaving the loop ends the command",
    steps: [
      { call: "shared.execStream", args: ["echo one; sleep 60; echo two"], take: 1, gives: [{ type: "stdout", data: "one\n" }] },
      { call: "shared.exec", args: ["pgrep -c sleep || true"], gives: { stdout: "0\n" }, until: true },
      { call: "shared.exec", args: [["sleep", "60"]], options: { timeoutMs: 200 }, gives: { timedOut: true } },
      { call: "shared.exec", args: [["cat"]], options: { stdin: "through" }, gives: { stdout: "through" } },
      {
        call: "shared.execStream",
        args: ["printf %s $MY_NAME; exit 2"],
        options: { env: { MY_NAME: "Ada" } },
        gives: [
          { type: "stdout", data: "Ada" },
          { type: "exit", code: 2, signal: null },
        ],
      },
    ],
  },
  {
    name: "a process outlives its client, and another one follows it and waits for it",
    steps: [
      { call: "connect", keep: "other" },
      { call: "other.sessions.get", args: ["$shared.sessionId"], keep: "lent" },
      {
        call: "lent.processes.start",
        args: ["read line; echo got $line; exit 4"],
        options: { stdin: true, name: "reader" },
        keep: "started",
      },
      { call: "shared.processes.list", gives: [{ id: "$started.id", status: "running", name: "reader" }] },
      { call: "shared.processes.get", args: ["$started.id"], keep: "process" },
      { call: "process.write", args: ["ink\n"] },
      {
        call: "process.follow",
        gives: [
          { type: "output", data: "got ink\n" },
          { type: "end", process: { exitCode: 4 } },
        ],
      },
      { call: "process.wait", gives: { status: "exited", exitCode: 4 } },
      { call: "process.read", options: { stream: "stdout", offset: 4 }, gives: { text: "ink\n", next: 8, droppedBytes: 0 } },
      { call: "process.remove" },
      { call: "shared.processes.list", gives: [] },
      { call: "shared.processes.start", args: [["sleep", "60"]], options: { pty: { cols: 80, rows: 24 } }, keep: "process" },
      { call: "process.resize", options: { cols: 100, rows: 30 } },
      { call: "process.signal", args: ["SIGTERM"] },
      { call: "process.wait", gives: { status: "exited", signal: "SIGTERM" } },
      { call: "process.remove" },
    ],
  },
  {
    name: "a token opens one session, until it is revoked",
    steps: [
      {
        call: "shared.tokens.create",
        options: { name: "runner", scopes: ["exec"], ttlMs: 600_000 },
        keep: "token",
        gives: { scopes: ["exec"], state: "active" },
      },
      { call: "shared.tokens.list", gives: [{ tokenId: "$token.tokenId", name: "runner" }] },
      { call: "shared.tokens.revoke", args: ["$token.tokenId"], gives: { state: "revoked" } },
    ],
  },
  {
    name: "a snapshot becomes several sessions, and is deleted",
    steps: [
      { call: "shared.files.write", args: ["data/kept.txt", "kept\n"] },
      { call: "shared.snapshot", options: { name: "before" }, keep: "snapshot", gives: { name: "before", status: "ready" } },
      { call: "berth.snapshots.list", options: { sessionId: "$shared.sessionId" }, gives: [{ id: "$snapshot.id" }] },
      {
        call: "berth.sessions.fork",
        options: { snapshotId: "$snapshot.id", externalUserId: "$user", count: 1, ...quiet },
        keep: "forks",
        gives: [{ session: { status: "running" }, error: null }],
      },
      { call: "berth.sessions.get", args: ["$forks.0.session.sessionId"], keep: "fork" },
      { call: "fork.exec", args: ["cat data/kept.txt"], gives: { stdout: "kept\n" } },
      { call: "fork.destroy" },
      { call: "berth.snapshots.remove", args: ["$snapshot.id"] },
      { call: "berth.snapshots.get", args: ["$snapshot.id"], throws: { name: "NotFoundError" } },
    ],
  },
  {
    name: "a run waits for a permission, which its program gives, and is followed to its end",
    steps: [
      { call: "berth.sessions.create", options: { externalUserId: "$user", template: "scripted", ...quiet }, keep: "session" },
      { call: "session.files.write", args: ["agent.mjs", "$agent"] },
      { call: "session.runs.start", args: ["/ask touch three"], keep: "run" },
      { call: "run.wait", gives: { status: "needs_input", waitsFor: [{ kind: "permission" }] }, keep: "asked" },
      { call: "run.answer", options: { itemId: "$asked.waitsFor.0.itemId", optionId: "$asked.waitsFor.0.options.0.id" } },
      {
        call: "run.follow",
        check: (events: { id: string }[]) => expect(events.at(-1)).toMatchObject({ type: "end", run: { status: "succeeded" } }),
      },
      { call: "session.runs.list", gives: [{ runId: "$run.id", status: "succeeded" }], until: true },
      {
        call: "session.agent.ask",
        args: ["Say this again"],
        gives: { text: expect.stringContaining("Say this again"), stopReason: "end_turn" },
      },
      { call: "session.agent.state", gives: { status: "ready" } },
      { call: "session.destroy" },
    ],
  },
];

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SandboxEvent } from "@berth/contract/daemon.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";
import { type TestRepository, testRepository } from "../testing/test-repository.ts";

let daemon: TestDaemon;
let repo: TestRepository;
let bare: string;
beforeEach(async () => {
  daemon = await startTestDaemon();
  repo = testRepository(daemon);
  repo.init();
  repo.write("a.txt", "a\n");
  repo.commit("first");
  bare = join(daemon.home, "bare.git");
  execFileSync("git", ["init", "-q", "--bare", "-b", "main", bare]);
});
afterEach(() => daemon[Symbol.asyncDispose]());

const heads = () => execFileSync("git", ["for-each-ref", "--format=%(refname:short) %(subject)"], { cwd: bare, encoding: "utf8" }).trim();

test("a branch is published, pushed, fetched and pulled, and a diverged one asks how", async () => {
  expect(await repo.run("push")).toMatchObject({ code: "git_no_remote" });
  expect((await repo.post("remote", { name: "origin", url: "--upload-pack=x" })).status).toBe(400);
  expect((await repo.post("remote", { name: "origin", url: bare })).status).toBe(204);
  expect((await repo.post("remote", { name: "origin", url: bare })).json.code).toBe("exists");
  expect(await repo.run("push")).toEqual({ type: "done" });
  expect(heads()).toBe("main first");
  expect(await repo.repository()).toMatchObject({ upstream: "origin/main", remotes: ["origin"], ahead: 0, behind: 0 });

  repo.git("clone", "-q", bare, join(daemon.home, "other"));
  const other = (...args: string[]) => repo.git("-C", join(daemon.home, "other"), ...args);
  other("commit", "-q", "--allow-empty", "-m", "theirs");
  other("push", "-q", "origin", "main", "main:feature");
  repo.write("a.txt", "b\n");
  repo.commit("mine");
  expect(await repo.run("push")).toMatchObject({ code: "git_rejected" });
  expect(await repo.run("fetch")).toEqual({ type: "done" });
  expect(await repo.repository()).toMatchObject({ ahead: 1, behind: 1 });
  expect(await repo.run("pull")).toMatchObject({ code: "git_diverged" });
  expect(await repo.run("pull", { reconcile: "rebase" })).toEqual({ type: "done" });
  expect(await repo.run("push")).toEqual({ type: "done" });
  expect(repo.git("log", "--format=%s")).toBe("mine\ntheirs\nfirst");

  await repo.post("switch", { branch: "feature", create: true, from: "origin/feature" });
  expect(await repo.repository()).toMatchObject({ branch: "feature", upstream: "origin/feature" });
});

test("a remote that needs a password fails at once and says what to do", async () => {
  const server = createServer((_request, response) => response.writeHead(401, { "WWW-Authenticate": 'Basic realm="x"' }).end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    const askPass = join(daemon.home, "ask");
    writeFileSync(askPass, "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
    repo.git("config", "core.askPass", askPass);
    repo.git("remote", "add", "origin", `http://127.0.0.1:${port}/x.git`);
    expect(await repo.run("push")).toMatchObject({ code: "git_authentication", message: expect.stringContaining("in a terminal") });
    expect(await repo.run("fetch")).toMatchObject({ code: "git_authentication" });
  } finally {
    server.close();
  }
});

test("a push in a terminal is reported to browsers that have read the status", async () => {
  repo.git("remote", "add", "origin", bare);
  repo.git("push", "-qu", "origin", "main");
  repo.write("a.txt", "b\n");
  repo.commit("second");
  const socket = daemon.connect("/events");
  const paths: string[] = [];
  socket.on("message", (data: Buffer) => {
    const event = JSON.parse(data.toString()) as SandboxEvent;
    if (event.type === "files") paths.push(...event.changes.map(({ path }) => path));
  });
  await once(socket, "message");
  expect(await repo.repository()).toMatchObject({ ahead: 1 });
  repo.git("push", "-q");
  await expect.poll(() => paths).toContain(".git/refs/remotes/origin/main");
  expect(await repo.repository()).toMatchObject({ ahead: 0 });
  socket.close();
  await once(socket, "close");
});

test("a submodule is one entry, which can be staged", async () => {
  repo.git("remote", "add", "origin", bare);
  repo.git("push", "-q", "origin", "main");
  repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", bare, "sub");
  repo.commit("submodule");
  repo.git("-C", "sub", "commit", "-q", "--allow-empty", "-m", "inside");
  expect(await repo.files()).toEqual(["-M sub"]);
  expect((await repo.post("stage", { paths: ["sub"] })).status).toBe(204);
  expect(await repo.files()).toEqual(["M- sub"]);
  expect((await daemon.fetch("/git/content?path=sub")).status).toBe(404);
});

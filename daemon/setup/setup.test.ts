import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Terminal } from "@berth/contract/daemon.ts";
import type { SetupImage, SetupReport, SetupRequest } from "@berth/contract/daemon-internal.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGitServer, type GitServer } from "../../tests/support/git/git-server.ts";
import { attachScreen } from "../testing/terminal-screen.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";
import { chooseImage } from "./runner/choose-image.ts";

let git: GitServer;
let daemon: TestDaemon;
let attempt = 0;

beforeAll(async () => {
  git = await startGitServer(null);
  git.addRepository("shop", { "README.md": "first\n" });
  git.git("shop", "branch", "next/feature");
  git.git("shop", "tag", "v1.0");
  daemon = await startTestDaemon();
});

afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
});

const begin = (request: Partial<SetupRequest>) =>
  daemon.fetch("/internal/setup", {
    method: "POST",
    body: { attempt: ++attempt, left: "source", git: null, command: null, defaultCommand: null, ...request },
  });

async function untilEnded(): Promise<SetupReport> {
  for (let seen = ""; ;) {
    const { json } = await daemon.fetch<SetupReport>(`/internal/setup?seen=${seen}`);
    if (["done", "failed", "image"].includes(json.status)) return json;
    seen = json.status;
  }
}

async function setUp(request: Partial<SetupRequest>): Promise<SetupReport> {
  await begin(request);
  return untilEnded();
}

const repository = (rest: object) => ({ url: git.url("shop"), hasCredential: false, ...rest });
const inWorkspace = (path: string) => readFileSync(join(daemon.workspace, path), "utf8");
const setupTerminals = async () =>
  (await daemon.fetch<{ terminals: Terminal[] }>("/terminals")).json.terminals.filter(({ title }) => title === "Setup");

test("branches, tags and commits are checked out, with and without a depth", async () => {
  const commit = git.git("shop", "rev-parse", "main").trim();
  const done = { status: "done", reason: null, exitCode: null };
  expect(await setUp({ git: repository({ path: "a" }) })).toEqual(done);
  expect(inWorkspace("a/.git/HEAD")).toBe("ref: refs/heads/main\n");
  expect(await setUp({ git: repository({ path: "b", ref: "next/feature", depth: 1 }) })).toEqual(done);
  expect(inWorkspace("b/.git/HEAD")).toBe("ref: refs/heads/next/feature\n");
  expect(await setUp({ git: repository({ path: "c", ref: "v1.0" }) })).toEqual(done);
  expect(await setUp({ git: repository({ path: "d/e", ref: commit }) })).toEqual(done);
  expect([inWorkspace("c/.git/HEAD"), inWorkspace("d/e/.git/HEAD")]).toEqual([`${commit}\n`, `${commit}\n`]);
  expect(inWorkspace("d/e/README.md")).toBe("first\n");
  // A new attempt replaces the terminal of the one before.
  expect(await setupTerminals()).toHaveLength(1);
});

test("the terminal and the reason name the repository, not the relay through which git reaches it", async () => {
  const gitConfig = [[`url.http://${git.address}/.insteadOf`, "https://git.example/"]];
  await daemon.fetch("/internal/start", { method: "POST", body: { env: {}, agent: null, autoStartAgent: false, gitConfig } });
  const screenOf = async () => {
    const screen = await attachScreen(daemon, (await setupTerminals())[0]!.id);
    await expect.poll(() => screen.messages.at(-1)).toMatchObject({ type: "exit" });
    await screen.close();
    return screen.text();
  };
  expect(await setUp({ git: repository({ path: "relayed", url: "https://git.example/shop.git" }) })).toMatchObject({ status: "done" });
  expect(await screenOf()).toContain("From https://git.example/shop");
  await setUp({ git: repository({ path: "relayed-2", url: "https://git.example/none.git" }) });
  const failed = await screenOf();
  expect(failed).toContain("https://git.example/none.git");
  expect(failed).not.toContain(git.address);
});

test("a failure says in plain words what is wrong", async () => {
  const reasonOf = async (rest: object) => (await setUp({ git: repository(rest) })).reason;
  expect(await reasonOf({ path: "f", ref: "none" })).toBe('The repository has no branch or tag "none".');
  expect(await reasonOf({ path: "g", ref: "f".repeat(40) })).toBe("The repository does not have this commit.");
  expect(await reasonOf({ path: "h", url: git.url("none") })).toBe(
    "The repository does not exist, or the token does not allow reading it.",
  );
  expect(await reasonOf({ path: "i", url: "http://127.0.0.1:9/shop.git" })).toBe("127.0.0.1:9 does not answer.");
  await daemon.fetch("/files/content?path=j/README.md", { method: "PUT", body: "mine\n" });
  expect(await reasonOf({ path: "j" })).toMatch(/^The folder has files with the names of files in the repository/);
  expect(inWorkspace("j/README.md")).toBe("mine\n");
});

test("the command of the create precedes the repository's, and that precedes the template's", async () => {
  git.addRepository("prepared", { ".berth/setup": "echo repository > who; exit 4\n" });
  const source = repository({ url: git.url("prepared"), path: "k" });
  expect(await setUp({ git: source, command: "echo create > who" })).toMatchObject({ exitCode: 0 });
  expect(inWorkspace("k/who")).toBe("create\n");
  expect(await setUp({ left: "command", git: source, defaultCommand: "echo template > who" })).toMatchObject({ exitCode: 4 });
  expect(inWorkspace("k/who")).toBe("repository\n");
  expect(await setUp({ left: "command", defaultCommand: "echo template > who" })).toMatchObject({ exitCode: 0 });
  expect(inWorkspace("who")).toBe("template\n");
});

test("a devcontainer.json sets variables and commands, and what does not apply is named", async () => {
  const json = `{
    // The properties that apply
    "containerEnv": { "SHOP_MODE": "development", "SHOP_ROOT": "\${containerWorkspaceFolder}/x", "OTHER": "\${localEnv:HOME}" },
    "postCreateCommand": { "one": "echo $SHOP_MODE > mode", "two": ["touch", "two words"] },
    "postStartCommand": "echo started >> started",
    "forwardPorts": [3000, 5000, "db:5432"],
    "portsAttributes": { "3000": { "label": "Shop" } },
    "image": "debian", /* and one that does not */
    "features": {},
  }`;
  git.addRepository("contained", { ".devcontainer/devcontainer.json": json });
  const source = { git: repository({ url: git.url("contained"), path: "m" }), defaultCommand: "exit 9" };
  const image = { allowed: ["deb*"], used: null, failed: null, reason: null };
  // The server decides what happens with an image that is allowed, and begins the same attempt again.
  await begin({ ...source, image });
  expect(await untilEnded()).toMatchObject({ status: "image", image: "debian" });
  attempt--;
  expect(await setUp({ ...source, left: "command", image: { ...image, failed: "debian" } })).toMatchObject({ exitCode: 0 });
  expect([inWorkspace("m/mode"), inWorkspace("m/two words"), inWorkspace("m/started")]).toEqual(["development\n", "", "started\n"]);
  const [terminal] = await setupTerminals();
  const screen = await attachScreen(daemon, terminal!.id);
  await screen.shows("these properties do not apply here: containerEnv.OTHER, features, forwardPorts of other containers.");
  await screen.shows("the image debian is not used, because no sandbox could be started in it");
  await screen.close();
  const expected = [
    { port: 3000, label: "Shop" },
    { port: 5000, label: null },
  ];
  expect((await daemon.fetch("/ports")).json).toMatchObject({ expected });
  const { text } = await daemon.fetch("/exec?format=text", { method: "POST", body: { command: "echo $SHOP_MODE $SHOP_ROOT" } });
  expect(text).toBe(`development ${join(daemon.workspace, "m/x")}\n`);
});

test("an image that cannot be used is named with the reason, and one in use with its name", () => {
  const about = (image: Partial<SetupImage>) =>
    chooseImage("debian:12", { allowed: ["mcr.example/*"], used: null, failed: null, reason: null, ...image });
  expect(about({}).sentence).toMatch("because the template does not allow it. An operator can add it to the template's allowedImages.");
  expect(about({ allowed: null }).sentence).toMatch("because sandboxes of this server have no images");
  expect(about({ used: "debian:12" })).toEqual({
    restart: false,
    sentence: "This sandbox runs in the image debian:12 of devcontainer.json.",
  });
  expect(about({ allowed: ["debian:*"] })).toMatchObject({ restart: true });
  expect(about({ failed: "debian:12" }).sentence).toMatch("in it. An image must be made for this machine's processor. The log");
  expect(about({ failed: "debian:12", reason: "The disk is full" }).sentence).toMatch("started in it. The disk is full. The log");
});

test("the postStartCommand runs again when the sandbox was stopped, and not when its session only starts again", async () => {
  const startSession = () => daemon.fetch("/internal/start", { method: "POST", body: { env: {}, agent: null, autoStartAgent: false } });
  const started = () => inWorkspace("m/started").trim().split("\n");
  await startSession();
  expect(started()).toEqual(["started"]);
  await daemon.stop();
  await daemon.restart();
  await startSession();
  await expect.poll(started, { timeout: 30_000 }).toEqual(["started", "started"]);
  await startSession();
  expect(await setupTerminals()).toHaveLength(1);
  expect(started()).toEqual(["started", "started"]);
});

test("an attempt runs once, an interrupted one says so, and it begins again after a restart", async () => {
  const first = { attempt: ++attempt, left: "command", git: null, defaultCommand: null } as const;
  await begin({ ...first, command: "echo run >> runs" });
  await untilEnded();
  await begin({ ...first, command: "echo run >> runs" });
  expect(await untilEnded()).toMatchObject({ status: "done", exitCode: 0 });
  expect(inWorkspace("runs")).toBe("run\n");

  const long = { ...first, attempt: ++attempt, command: "test -e again || { touch again; sleep 60; }" };
  await begin(long);
  await expect.poll(() => existsSync(join(daemon.workspace, "again")), { timeout: 30_000 }).toBe(true);
  const [terminal] = await setupTerminals();
  await daemon.fetch(`/terminals/${terminal?.id}`, { method: "DELETE" });
  expect(await untilEnded()).toEqual({ status: "done", reason: null, exitCode: 130 });

  await daemon.stop();
  await daemon.restart();
  expect(await daemon.fetch("/internal/setup")).toMatchObject({ status: 404 });
  await begin(long);
  expect(await untilEnded()).toMatchObject({ status: "done", exitCode: 0 });
  // The server may have died before it learnt of the end.
  await daemon.stop();
  await daemon.restart();
  await begin(long);
  expect(await untilEnded()).toMatchObject({ status: "done", exitCode: 0 });
});

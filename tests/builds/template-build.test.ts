import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionRead } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGitServer, type GitServer } from "../support/git/git-server.ts";
import { describeWith } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { cliEnv, cliPath, runCliForJsonHere, runCliHere } from "../support/servers/cli.ts";
import { buildSandboxes, buildsMissing } from "./build-sandboxes.ts";
import { devcontainerFiles } from "./devcontainer.ts";

const WAIT = { timeout: 120_000, interval: 200 };

type Entry = Record<string, { image?: string; snapshot: string }>;

describeWith(buildsMissing, "berth template build", { timeout: 300_000 }, () => {
  let git: GitServer;
  let berth: Berth;
  let folder: string;
  let templatesFile: string;
  const defaults = { default: { allowBuilds: true, memoryMb: 768 } };

  beforeAll(async () => {
    git = await startGitServer(null);
    folder = mkdtempSync(join(tmpdir(), "berth-template-build-"));
    templatesFile = join(folder, "templates.json");
    writeFileSync(templatesFile, JSON.stringify(defaults));
    writeFileSync(join(folder, "token"), "unused");
    berth = await startBerth({ BERTH_DRIVER: "oci", BERTH_TEMPLATES: templatesFile, BERTH_EGRESS_ALLOW: git.address });
  });
  afterAll(async () => {
    await berth[Symbol.asyncDispose]();
    await git[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  // With a token, git reaches a server on loopback through the relay.
  const buildArgs = (repository: string, name: string) => [
    "template",
    "build",
    git.url(repository),
    "--name",
    name,
    "--git-token-file",
    join(folder, "token"),
  ];
  const sessions = async () => (await berth.api.call("GET", "/api/b2b/sessions")).body as { data: SessionRead[] };
  const liveSessions = async () => (await sessions()).data.filter(({ status }) => status !== "destroyed");
  const snapshots = async () => (await berth.api.call("GET", "/api/b2b/snapshots")).body as { data: object[] };
  const imageFolders = () => readdirSync(join(berth.dataDir, "images")).filter((name) => name.startsWith("sha256-"));

  test("the template has the image and the files, its sessions run no setup again, and the pool keeps them warm", async () => {
    git.addRepository("shop", devcontainerFiles());
    const entry = await runCliForJsonHere<Entry>(berth, ...buildArgs("shop", "shop"));
    expect(entry).toEqual({
      shop: {
        allowBuilds: true,
        memoryMb: 768,
        image: expect.stringMatching(/^localhost\/berth-build:/),
        snapshot: expect.stringMatching(/^snp_/),
      },
    });
    expect(await liveSessions()).toEqual([]);

    // An operator takes as long as it takes: the snapshot keeps the image, although no template names it yet.
    const [image] = imageFolders();
    const pins = join(berth.dataDir, "images/pins");
    await berth.stop();
    for (const name of readdirSync(pins)) {
      const pin = JSON.parse(readFileSync(join(pins, name), "utf8")) as { atMs: number };
      writeFileSync(join(pins, name), JSON.stringify({ ...pin, atMs: pin.atMs - 86_400_000 }));
    }
    await berth.start();
    git.addRepository("other", { "README.md": "something else\n" });
    // Its destruction lets the server look for unused images.
    const other = await berth.api.create({ source: { git: { url: git.url("other"), token: "unused" } } });
    await berth.api.call("DELETE", `/api/b2b/sessions/${other.sessionId}`);
    await berth.stop();
    expect(imageFolders()).toEqual([image]);

    writeFileSync(templatesFile, JSON.stringify({ ...defaults, ...entry }));
    await berth.start({ BERTH_POOL_SIZE: "1", BERTH_POOL_MAX: "1" });
    const metrics = async () => await (await fetch(`${berth.url}/metrics`)).text();
    await expect.poll(metrics, WAIT).toContain('\nberth_sessions{state="warm"} 2\n');
    const session = await berth.api.create({ template: "shop" });
    expect(await metrics()).toContain('\nberth_pool_creates_total{template="shop",found="warm"} 1\n');
    const output = async (command: string) => (await berth.api.exec(session.sandboxId, command)).stdout;
    expect(await output("cat /etc/greeting; echo $GREETED $SHOP_MODE; cat .devcontainer/Dockerfile | head -1")).toBe(
      "hello dev at /home/dev, based\nyes development\nFROM scratch AS tools\n",
    );
    await expect.poll(() => output("cat steps"), WAIT).toBe("created\nset up as dev\nattached\nattached\n");
    expect((await berth.api.call("GET", `/api/b2b/sessions/${session.sessionId}?expand=details`)).body).not.toHaveProperty("source");
    await berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`);
  });

  test("a repository that cannot be fetched, an image that cannot be built and a setup that fails leave nothing", async () => {
    git.addRepository("broken", devcontainerFiles({ build: { dockerfile: "Dockerfile", context: ".." } }));
    git.addRepository("failing", { ".berth/setup": "exit 7" });
    const before = await snapshots();
    const failure = async (...args: string[]) => {
      const { code, stderr, stdout } = await runCliHere(berth, ...args);
      expect([code, stdout]).toEqual([1, ""]);
      return stderr;
    };
    expect(await failure(...buildArgs("absent", "x"))).toContain("The repository could not be fetched. The repository does not exist");
    const broken = await failure(...buildArgs("broken", "x"));
    expect(broken).toContain('building at STEP "RUN false"');
    expect(broken).toContain("The image of devcontainer.json is not used. The image could not be built.");
    expect(await failure(...buildArgs("failing", "x"))).toContain("The setup command ended with exit code 7.");
    expect(await failure(...buildArgs("failing", "No Name"))).toContain("is no name for a template");
    expect(await failure(...buildArgs("failing", "x"), "--template", "absent")).toContain("There is no template absent.");
    expect(await liveSessions()).toEqual([]);
    expect(await snapshots()).toEqual(before);
  });

  test("a template of that name is named, and one without builds says how to allow them", async () => {
    git.addRepository("plain", { ".berth/setup": "echo done > steps" });
    writeFileSync(templatesFile, JSON.stringify({ default: {}, taken: { snapshot: "snp_01arz3ndektsv4rrffq69g5fav" } }));
    const { stdout, stderr } = await runCliHere(berth, ...buildArgs("plain", "taken"));
    expect(stdout).toContain("There is a template taken already. Add this entry in its place");
    expect(stdout).toContain("`berth snapshot delete snp_01arz3ndektsv4rrffq69g5fav`");
    expect(stderr).toContain("The image is that of the template default, which allows no builds.");
    writeFileSync(templatesFile, JSON.stringify(defaults));
  });

  test("an interrupted command destroys its session, and one survives a restart of the server", async () => {
    const files = devcontainerFiles();
    const slow = `${files[".devcontainer/Dockerfile"]?.toString().split("FROM tools")[0]}RUN while ! [ -e /x ]; do sleep 1; done\n`;
    git.addRepository("slow", { ...files, ".devcontainer/Dockerfile": slow });
    git.addRepository("waiting", { ".berth/setup": "while ! [ -e go ]; do sleep 0.2; done" });
    const start = (repository: string) => {
      const child = spawn(process.execPath, [cliPath, ...buildArgs(repository, "x")], {
        env: cliEnv(berth),
        stdio: ["ignore", "pipe", "pipe"],
      });
      const output = { stdout: "", stderr: "" };
      child.stdout.on("data", (chunk) => (output.stdout += String(chunk)));
      child.stderr.on("data", (chunk) => (output.stderr += String(chunk)));
      return { child, output, exited: once(child, "exit") as Promise<[number | null]> };
    };
    const building = start("slow");
    await expect.poll(() => building.output.stderr, WAIT).toContain("while ! [ -e /x ]");
    building.child.kill("SIGINT");
    expect(await building.exited).toEqual([130, null]);
    expect(building.output.stderr).toContain("Interrupted. No template was made.");
    expect(await liveSessions()).toEqual([]);
    await expect.poll(() => buildSandboxes(berth), WAIT).toEqual([]);

    const waiting = start("waiting");
    await expect.poll(() => waiting.output.stderr, WAIT).toContain("The repository is there.");
    await berth.kill();
    await berth.start();
    const [session] = await liveSessions();
    await berth.api.writeFile(session!.sandboxId, "go", "");
    expect(await waiting.exited).toEqual([0, null]);
    expect(waiting.output.stdout).toContain('"snapshot": "snp_');
    expect(await liveSessions()).toEqual([]);
  });
});

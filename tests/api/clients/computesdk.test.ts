import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { compute } from "computesdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FileNotFoundError } from "../../../client/index.ts";
import { berth, type BerthProvider } from "../../../clients/computesdk/index.ts";
import { readSamples } from "../../support/docs/samples.ts";
import { daemonRuntime } from "../../support/runtime.ts";
import { shareBerth, type SharedBerth } from "../../support/servers/shared-berth.ts";

// A program with ComputeSDK, whose sandboxes are real ones of a real server. ComputeSDK's own suite for providers is not published; the
// tests here ask the same of a sandbox.
const root = join(import.meta.dirname, "../../..");
let server: SharedBerth;
let provider: BerthProvider;
type Sandbox = Awaited<ReturnType<BerthProvider["sandbox"]["create"]>>;
let sandbox: Sandbox;

beforeAll(async () => {
  await daemonRuntime();
  server = await shareBerth();
  provider = berth({ baseUrl: server.url, apiKey: server.key });
  compute.setConfig({ provider });
  sandbox = await provider.sandbox.create({
    timeout: 600_000,
    name: "shared",
    metadata: { plan: "pro", seats: 3 },
    envs: { GREETING: "hello" },
  });
});

afterAll(async () => {
  await sandbox.destroy();
});

describe("the package that the server hands out", () => {
  const modules = join(root, "node_modules");
  const project = mkdtempSync(join(tmpdir(), "berth-computesdk-"));
  const run = promisify(execFile);
  afterAll(() => rmSync(project, { recursive: true }));

  test("needs the version of ComputeSDK that it is tested with", () => {
    const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8")) as Record<string, Record<string, string>>;
    const { "@computesdk/provider": version } = read("package.json")["devDependencies"]!;
    expect(read("clients/computesdk/package.json")["dependencies"]).toEqual({ "@computesdk/provider": version });
  });

  test("runs the programs of its README", async () => {
    // As `npm install` does, but with ComputeSDK's packages from here instead of a registry.
    const installed = join(project, "node_modules/@berth/computesdk");
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(project, "package.tgz"), await (await fetch(`${server.url}/clients/berth-computesdk.tgz`)).bytes());
    await run("tar", ["xzf", join(project, "package.tgz"), "-C", installed, "--strip-components=1"]);
    for (const name of ["computesdk", "@computesdk"]) symlinkSync(join(modules, name), join(project, "node_modules", name));
    const samples = readSamples().filter(({ document, language }) => document === "clients/computesdk/README.md" && language === "ts");
    const outputs: string[] = [];
    for (const { text } of samples) {
      writeFileSync(join(project, "sample.mts"), text);
      const env = { BERTH_URL: server.url, BERTH_API_KEY: server.key };
      outputs.push((await run(process.execPath, ["sample.mts"], { cwd: project, env })).stdout);
    }
    expect(outputs).toEqual([expect.stringMatching(/^0 hello from v\d+/), expect.stringContaining(server.url)]);
    // Its types are those of the sources, which no compiler has checked when the package was built.
    const options = {
      module: "nodenext",
      target: "es2022",
      lib: ["es2024", "dom"],
      strict: true,
      noEmit: true,
      types: [],
      skipLibCheck: false,
    };
    writeFileSync(join(project, "globals.d.ts"), "declare const process: { env: Record<string, string | undefined> };");
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts", "*.mts"] }));
    const compiled = run(process.execPath, [join(modules, "typescript-native/bin/tsc"), "-p", project]);
    expect(
      await compiled.then(
        () => "",
        (error: { stdout: string }) => error.stdout,
      ),
    ).toBe("");
  });
});

test("a sandbox is created, found by its id, listed and destroyed", async () => {
  const created = await compute.sandbox.create({ provider: "berth", ports: [3000] });
  expect(created).toMatchObject({ sandboxId: expect.stringMatching(/^ses_/), provider: "berth" });
  expect((await compute.sandbox.getById(created.sandboxId))?.sandboxId).toBe(created.sandboxId);
  // A session that the partner's own users have is not in the list.
  const other = await server.api.create({ autoStartAgent: false });
  const listed = (await compute.sandbox.list()).map(({ sandboxId }) => sandboxId);
  expect(listed.toSorted()).toEqual([created.sandboxId, sandbox.sandboxId].toSorted());
  await compute.sandbox.destroy(created.sandboxId);
  await created.destroy();
  expect(await compute.sandbox.getById(created.sandboxId)).toBeNull();
  expect(await compute.sandbox.list()).toHaveLength(1);
  await server.api.call("DELETE", `/api/b2b/sessions/${other.sessionId}`);
});

test("an option that Berth does not know is refused", async () => {
  await expect(provider.sandbox.create({ image: "debian:12", egres: { policy: "none" } })).rejects.toThrow("the option image, egres");
  await expect(provider.sandbox.create({ templateId: "absent" })).rejects.toThrow(/template/i);
});

test("a create that is given up leaves no sandbox", async () => {
  const controller = new AbortController();
  const creating = provider.sandbox.create({ signal: controller.signal });
  controller.abort();
  await expect(creating).rejects.toThrow(/abort/i);
  await expect.poll(() => compute.sandbox.list()).toHaveLength(1);
});

test("a sandbox describes itself, and gives access to its session", async () => {
  const info = await sandbox.getInfo();
  expect(info).toEqual({
    id: sandbox.sandboxId,
    provider: "berth",
    status: "running",
    createdAt: expect.any(Date),
    timeout: expect.any(Number),
    metadata: { name: "shared", plan: "pro", seats: "3" },
  });
  expect(info.timeout).toBeLessThanOrEqual(600_000);
  expect(info.timeout).toBeGreaterThan(0);
  const session = sandbox.getInstance();
  expect((await session.launchUrl()).url).toContain(server.url);
});

describe("a command", () => {
  test("has the environment, the folder and the exit code that a caller expects", async () => {
    expect(await sandbox.runCommand('echo "$GREETING $WHO"; echo oops >&2; exit 3', { env: { WHO: "you" } })).toEqual({
      stdout: "hello you\n",
      stderr: "oops\n",
      exitCode: 3,
      durationMs: expect.any(Number),
    });
    expect(await sandbox.runCommand("pwd && cat", { cwd: "/usr/lib" })).toMatchObject({ stdout: "/usr/lib\n", exitCode: 0 });
    expect((await sandbox.runCommand("pwd", { cwd: "/no such folder" })).exitCode).not.toBe(0);
    expect((await sandbox.runCommand("nonexistent-command-12345")).exitCode).toBe(127);
    expect((await sandbox.runCommand("kill -KILL $$")).exitCode).toBe(137);
    expect((await sandbox.runCommand("sleep 60", { timeout: 100 })).exitCode).toBe(124);
  });

  test("streams its output while it runs", async () => {
    let written: Promise<void> | undefined;
    const chunks: string[] = [];
    const { stdout } = await sandbox.runCommand("echo first; until [ -e /tmp/go ]; do sleep 0.05; done; echo second", {
      // Without this file the command does not end.
      onStdout(text) {
        chunks.push(text);
        written ??= sandbox.filesystem.writeFile("/tmp/go", "");
      },
    });
    await written;
    expect(chunks.join("")).toBe(stdout);
    expect(stdout).toBe("first\nsecond\n");
  });

  test("goes on in the background", async () => {
    const { exitCode } = await sandbox.runCommand("until [ -e background-go ]; do sleep 0.05; done; pwd > done", {
      background: true,
      cwd: "/tmp",
    });
    expect(exitCode).toBe(0);
    expect(await sandbox.filesystem.exists("/tmp/done")).toBe(false);
    await sandbox.filesystem.writeFile("/tmp/background-go", "");
    await expect.poll(() => sandbox.filesystem.readFile("/tmp/done").catch(() => "")).toBe("/tmp\n");
  });
});

test("files are written, listed, read and removed, anywhere in the sandbox", async () => {
  const { filesystem } = sandbox;
  await filesystem.mkdir("/tmp/a folder/deep");
  await filesystem.writeFile("/tmp/a folder/grüße.txt", "hallo\n");
  expect(await filesystem.readFile("/tmp/a folder/grüße.txt")).toBe("hallo\n");
  expect(await filesystem.readdir("/tmp/a folder")).toEqual([
    { name: "deep", type: "directory", size: expect.any(Number), modified: expect.any(Date) },
    { name: "grüße.txt", type: "file", size: 6, modified: expect.any(Date) },
  ]);
  await filesystem.remove("/tmp/a folder");
  await filesystem.remove("/tmp/a folder");
  expect(await filesystem.exists("/tmp/a folder")).toBe(false);
  await expect(filesystem.readFile("/nonexistent/file.txt")).rejects.toThrow(FileNotFoundError);
});

test("a URL is signed for a port, and a sandbox can begin with a snapshot of another one", async () => {
  expect(await sandbox.getUrl({ port: 3000 })).toMatch(/^http:\/\/3000-/);
  await expect(sandbox.getUrl({ port: 3000, protocol: "wss" })).rejects.toThrow("wss");
  await sandbox.runCommand("echo kept > kept.txt");
  const snapshot = await compute.snapshot.create(sandbox.sandboxId, { name: "with a file" });
  expect(snapshot).toMatchObject({ provider: "berth", metadata: { name: "with a file", sessionId: sandbox.sandboxId } });
  const copy = await compute.sandbox.create({ snapshotId: snapshot.id });
  expect((await copy.runCommand("cat kept.txt")).stdout).toBe("kept\n");
  await copy.destroy();
  expect((await compute.snapshot.list()).map(({ id }) => id)).toEqual([snapshot.id]);
  await compute.snapshot.delete(snapshot.id);
  expect(await provider.snapshot!.list({ sandboxId: sandbox.sandboxId })).toEqual([]);
  await expect(provider.snapshot!.create(sandbox.sandboxId, { metadata: { a: "b" } })).rejects.toThrow("metadata");
});

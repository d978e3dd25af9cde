import { execFile } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";
import { daemonRuntime } from "../support/runtime.ts";

// The package as partners install it: from the server, into a project outside this repository.
const root = join(import.meta.dirname, "../..");
const project = mkdtempSync(join(tmpdir(), "berth-package-"));
const installed = join(project, "node_modules/@berth/client");
const run = promisify(execFile);

let server: SharedBerth;

beforeAll(async () => {
  await daemonRuntime();
  server = await shareBerth();
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  await run("npm", ["install", "--no-audit", "--no-fund", `${server.url}/clients/berth-client.tgz`], { cwd: project });
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test("the set-up for serving installs what builds the clients", () => {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as { packages: Record<string, { dev?: boolean }> };
  for (const name of ["typescript-native", "fflate"]) expect(lock.packages[`node_modules/${name}`]!.dev).toBeUndefined();
});

describe("the installed package drives the service", () => {
  beforeAll(() => {
    writeFileSync(
      join(project, "use.js"),
      `${USE}\nconsole.log(JSON.stringify(await use(${JSON.stringify(server.url)}, ${JSON.stringify(server.key)})));`,
    );
  });
  beforeAll(() => writeFileSync(join(project, "like-node-18.js"), "delete AbortSignal.any; delete globalThis.crypto;"));

  // The machine's Node is often older than ours. Deno and Bun run if they are installed.
  const runtimes: [string, string, string[]][] = [
    ["the machine's own Node", "node", ["use.js"]],
    ["the pinned Node", process.execPath, ["use.js"]],
    ["a Node without what Node 18 lacks", process.execPath, ["--import", "./like-node-18.js", "use.js"]],
    ["Deno", "deno", ["run", "--allow-net", "use.js"]],
    ["Bun", "bun", ["use.js"]],
  ];
  for (const [name, command, args] of runtimes) {
    testWith(existsSync(command) ? undefined : machine.program(command), `on ${name}`, async () => {
      const { stdout } = await run(command, args, { cwd: project });
      expect(JSON.parse(stdout)).toEqual(USED);
    });
  }

  test("with web APIs alone, as on edge runtimes", async () => {
    writeFileSync(join(project, "edge.js"), USE.replace("async function use", "globalThis.use = async function"));
    const bundle = await build({
      entryPoints: [join(project, "edge.js")],
      bundle: true,
      format: "iife",
      write: false,
      platform: "neutral",
    });
    const realm = createContext(Object.fromEntries(WEB.map((name) => [name, (globalThis as Record<string, unknown>)[name]])));
    runInContext(bundle.outputFiles[0]?.text ?? "", realm);
    const use = runInContext("use", realm) as (url: string, key: string) => Promise<unknown>;
    expect(await use(server.url, server.key)).toEqual(USED);
  });
});

const WEB = [
  "fetch",
  "URL",
  "Headers",
  "Request",
  "Response",
  "ReadableStream",
  "TextDecoderStream",
  "TextEncoder",
  "TextDecoder",
  "AbortController",
  "AbortSignal",
  "crypto",
  "atob",
  "btoa",
  "setTimeout",
  "clearTimeout",
];

const USE = `
  import { createBerth, SessionNotFoundError, verifyWebhook, WebhookVerificationError } from "@berth/client";
  async function use(baseUrl, apiKey) {
    const berth = createBerth({ baseUrl, apiKey });
    const session = await berth.sessions.forUser("partner", { autoStartAgent: false });
    await session.files.write("a.txt", "from outside");
    const { stdout } = await session.exec("cat a.txt");
    const streamed = [];
    for await (const event of session.execStream("echo streamed")) streamed.push(event.type);
    await session.destroy();
    const gone = await session.launchUrl().catch((error) => error instanceof SessionNotFoundError);
    const headers = { "webhook-id": "1", "webhook-timestamp": String(Math.floor(Date.now() / 1000)), "webhook-signature": "v1,AAAA" };
    const forged = await verifyWebhook("{}", headers, "whsec_AAAA").catch((error) => error instanceof WebhookVerificationError);
    return { stdout, streamed, gone, forged };
  }`;

const USED = { stdout: "from outside", streamed: ["stdout", "exit"], gone: true, forged: true };

test("the types need no compiler newer than TypeScript 5.0", () => {
  const files = globSync("**/*.d.ts", { cwd: installed });
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const text = readFileSync(join(installed, file), "utf8");
    expect([file, /\b(?:Uint8Array|ArrayBufferView|Buffer|AsyncGenerator|AsyncIterator)<[^<>]*ArrayBuffer|\.ts"/.exec(text)?.[0]]).toEqual([
      file,
      undefined,
    ]);
  }
  expect(globSync("**/*", { cwd: installed }).filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))).toEqual([]);
});

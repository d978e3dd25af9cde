import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { createBerth, type Session } from "../../../client/index.ts";
import type { Sample } from "../../support/docs/samples.ts";
import { download, PYTHON } from "../clients/python-runner.ts";
import { moduleOf } from "./typescript-sample.ts";
import { webhookRequest } from "./webhook-request.ts";
import type { World } from "./world.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");

// All samples of one language, on a machine that is busy.
export const RUN_TIMEOUT_MS = 300_000;

// The failures of samples by their place in the list.
export type Failures = Record<string, string>;

// Compiles the samples as modules of a project that has the package from the server, then runs them in one process.
export async function runTypescript(world: World, samples: Sample[]): Promise<{ findings: string; failures: Failures }> {
  const project = join(world.folder, "typescript");
  const client = join(project, "node_modules/@berth/client");
  mkdirSync(client, { recursive: true });
  await download(`${world.url}/clients/berth-client.tgz`, join(project, "client.tgz"));
  await run("tar", ["xzf", join(project, "client.tgz"), "-C", client, "--strip-components=1"]);
  const files = samples.map((_, at) => `sample-${at}.ts`);
  samples.forEach(({ text }, at) => writeFileSync(join(project, files[at]!), moduleOf(world.localize(text))));
  const strict = {
    module: "nodenext",
    target: "es2022",
    lib: ["es2024", "dom", "dom.asynciterable"],
    strict: true,
    noEmit: true,
    types: [],
  };
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: strict, include: ["sample-*.ts"] }));
  const findings = await run(process.execPath, [join(root, "node_modules/typescript-native/bin/tsc"), "-p", project]).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
  for (const name of ["typescript-main.ts", "webhook-request.ts"]) copyFileSync(join(import.meta.dirname, name), join(project, name));
  const facts = { baseUrl: world.url, apiKey: await world.newKey("typescript"), token: world.token, files };
  const failures = await runMain([process.execPath, "typescript-main.ts"], { cwd: project, env: {}, facts });
  return { findings, failures: Object.fromEntries(files.flatMap((file, at) => (file in failures ? [[at, failures[file]!]] : []))) };
}

export async function runPython(world: World, samples: Sample[]): Promise<Failures> {
  const wheel = join(world.folder, "berth.whl");
  await download(`${world.url}/clients/berth.whl`, wheel);
  const texts = Object.fromEntries(samples.map(({ text }, at) => [at, world.localize(text)]));
  const facts = { baseUrl: world.url, apiKey: await world.newKey("python"), token: world.token, folder: world.folder, samples: texts };
  // Python imports from a wheel without unpacking it.
  const options = { cwd: world.folder, env: { PYTHONPATH: wheel }, facts };
  return await runMain([PYTHON, join(import.meta.dirname, "python-main.py")], options);
}

interface MainOptions {
  cwd: string;
  env: Record<string, string>;
  facts: object;
}

// The program reads facts and prints failures in its last line, after the output of the samples.
async function runMain([command, ...args]: string[], { cwd, env, facts }: MainOptions): Promise<Failures> {
  const running = run(command!, args, { cwd, env: { PATH: process.env.PATH, ...env }, timeout: RUN_TIMEOUT_MS });
  running.child.stdin!.end(JSON.stringify(facts));
  return JSON.parse((await running).stdout.trim().split("\n").at(-1)!) as Failures;
}

export interface ShellReader {
  // Runs a sample in a process of its own, and returns its output if it fails.
  run(sample: Sample): Promise<string | null>;
}

export async function openShellReader(world: World): Promise<ShellReader> {
  const apiKey = await world.newKey("shell");
  const folder = join(world.folder, "shell");
  mkdirSync(join(folder, ".berth"), { recursive: true });
  writeFileSync(join(folder, ".berth/demo-api-key"), apiKey);
  const berth = createBerth({ baseUrl: world.url, apiKey });
  const session = await berth.sessions.create({ externalUserId: "reader" });
  const { secret } = await berth.webhooks.create({ url: "https://you.example.com/hooks/berth" });
  return {
    async run({ text }) {
      const { body, headers } = await webhookRequest(berth, session.sessionId, [secret]);
      const env = {
        PATH: process.env.PATH ?? "",
        BASE: world.url,
        KEY: apiKey,
        ID: session.sessionId,
        SANDBOX_URL: session.sandboxUrl,
        TOKEN: world.token,
        TASK: "Say hello",
        SECRET: secret,
        EVENT: body,
        RAW_BODY: body,
        WEBHOOK_ID: headers["webhook-id"],
        WEBHOOK_TIMESTAMP: headers["webhook-timestamp"],
        WEBHOOK_SIGNATURE: headers["webhook-signature"],
      };
      // A sample that gets an error fails, also in front of a pipe.
      const prelude = 'set -eu -o pipefail\ncurl() { command curl --fail-with-body "$@"; }\n';
      const script = `${prelude}${world.localize(text).replaceAll("berth_…", apiKey)}`;
      const failure = await run("bash", ["--norc", "-c", script], { cwd: folder, env }).then(
        () => null,
        ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
      );
      await tidy(session);
      return failure;
    },
  };

  async function tidy({ sessionId }: Session): Promise<void> {
    for await (const other of berth.sessions.list({ status: "running" }))
      if (other.externalUserId !== "nightly" && other.sessionId !== sessionId) await other.destroy();
  }
}

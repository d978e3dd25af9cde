import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { buildProgram } from "../../cli/berth.ts";
import { readSamples, type Sample } from "../support/docs/samples.ts";
import { describeWith, machine } from "../support/machine.ts";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";
import { daemonRuntime } from "../support/runtime.ts";

// Every block of code in the documents is run, compiled or parsed. Blocks that cannot run here are in this list, with the reason.
const NOT_RUN: Record<string, string> = {
  "CONTRIBUTING.md: npm start          # sets everything up and runs the service on http://localhost:8080": "runs this suite",
  "CONTRIBUTING.md: npm test -- server/sessions/states/states.test.ts    # one file":
    "scripts/test.test.ts runs this form; others take hours",
  "README.md: npm start     # installs dependencies, builds the workspace, runs the service": "tests/conditions/stop.test.ts runs it",
  "client/README.md: npm install https://berth.example.com/clients/berth-client.tgz": "tests/api/package.test.ts installs the package",
  "docs/ssh.md: ssh ses_01k9zq3v8e4m7t2x5c6b9d0fgh.berth": "tests/api/ssh.test.ts uses these clients",
  "docs/ssh.md: export BERTH_SERVER_URL=https://berth.example.com BERTH_SESSION_TOKEN=berth_st_…":
    "tests/api/ssh.test.ts connects with a token",
  "docs/agents.md: BERTH_MODEL_PROVIDER=anthropic BERTH_MODEL_API_KEY=sk-ant-… BERTH_MODEL_NAME=claude-sonnet-4-5 npm start":
    "needs a model",
  'docs/agents.md: curl -N "$SANDBOX_URL/agent/prompt" -H "Authorization: Bearer $KEY" -H \'Content-Type: application/json\' \\':
    "needs a model",
  "docs/command-line.md: BERTH_MASTER_KEY=$(openssl rand -hex 32),<the old one>": "a setting; tests/operator/master-key.test.ts uses it",
  "docs/deploy.md: git clone … /opt/berth-server && cd /opt/berth-server": "needs systemd",
  "docs/deploy.md: printf 'kernel.pty.max = 33024\\nkernel.pid_max = 4194304\\n' > /etc/sysctl.d/60-berth.conf && sysctl --system":
    "changes the machine",
  "docs/deploy.md: docker build -f deploy/Dockerfile.sandbox -t berth-sandbox .": "needs a registry",
  "docs/deploy.md: docker build -f deploy/Dockerfile -t registry.example.com/berth:0.2.0 .": "needs a registry and a cluster",
  "docs/deploy.md: docker buildx build --platform linux/amd64,linux/arm64 -f deploy/Dockerfile -t registry.example.com/berth:0.2.0 --push .":
    "needs a registry",
  "docs/deploy.md: kubectl apply -f deploy/kubernetes/warm-pool.yaml      # one for each template": "needs a cluster",
  "docs/performance.md: npm run bench -- tti          # one benchmark; bench/README.md lists them and their options": "takes minutes",
  "examples/batch-runner/README.md: pip install \"$(curl -s -o /dev/null -w '%{redirect_url}' localhost:8080/clients/berth.whl)\"":
    "tests/examples/programs.test.ts runs the example",
  "examples/batch-runner/README.md: [files] wrote report/summary.txt": "is output",
  "examples/classroom/README.md: BERTH_TEMPLATES=examples/classroom/templates.yaml npm start":
    "tests/examples/pages.test.ts runs the example",
  "examples/classroom/README.md: npx berth partner update demo --origin http://localhost:3000 --max-sessions 35":
    "tests/examples/pages.test.ts runs the example",
  "examples/interview/README.md: npx berth partner update demo --origin http://localhost:3000":
    "tests/examples/pages.test.ts runs the example",
  "examples/issue-agent/README.md: cd examples/issue-agent": "tests/examples/programs.test.ts runs the example",
  "examples/issue-agent/README.md: The agent: running": "is output",
  "examples/next-app/README.md: npx berth partner update demo --origin http://localhost:3000": "`npm run examples:next` runs it",
  "examples/partner-app/README.md: npx berth partner update demo --origin http://localhost:3000":
    "tests/browser/embed.test.ts runs the example",
  "examples/partner-app/README.md: curl -s localhost:8080/api/b2b/webhooks -H \"X-API-Key: $BERTH_API_KEY\" -H 'Content-Type: application/json' \\":
    "tests/browser/embed.test.ts runs the example",
  "docs/upgrade.md: cd /opt/berth-server": "needs systemd",
  "docs/upgrade.md: docker build -f deploy/Dockerfile.sandbox -t berth-sandbox .": "needs a registry",
  "docs/upgrade.md: kubectl apply -k deploy/kubernetes": "needs a cluster",
  "docs/e2b.md: export E2B_API_KEY=berth_…                             # your API key":
    "runs a program of the reader; tests/e2b has programs with the SDK",
  'docs/mcp.md: claude mcp add --transport http berth https://berth.example.com/mcp --header "Authorization: Bearer $BERTH_API_KEY"':
    "needs Claude Code",
  "docs/monitoring.md: OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=0.1 npm start":
    "needs a collector",
  'docs/repositories.md: curl -s -X POST "localhost:8080/api/b2b/sessions?wait=source" -H "X-API-Key: $KEY" -H \'Content-Type: application/json\' -d \'{':
    "needs a git server; tests/api/source.test.ts has one",
  "docs/templates.md: mkdir -p /srv/roots/python": "needs a registry",
};

// Documents whose commands another test runs as they are written.
const RUN_ELSEWHERE: Record<string, string> = {
  "clients/computesdk/README.md": "tests/api/clients/computesdk.test.ts",
  "clients/python/README.md": "tests/api/clients/clients.test.ts",
  "docs/backup.md": "tests/operator/backup.test.ts",
  "docs/sandbox.md": "tests/api/programs.test.ts",
  "docs/tutorial.md": "tests/browser/tutorial.test.ts",
};

const SHELL = ["", "sh", "bash"];
// Any picture that the command may read.
const LOGO = join(import.meta.dirname, "../../web/public/assets/icon.svg");
const samples = readSamples();
const shell = samples.filter(
  ({ name, document, language }) => SHELL.includes(language) && !(name in NOT_RUN) && !(document in RUN_ELSEWHERE),
);
const isCommandLine = ({ text }: Sample) => /^(npx )?berth /.test(text);

test("every sample has a language that is run, compiled or parsed, and the lists name only samples that exist", () => {
  const known = [...SHELL, "ts", "js", "python", "json", "yaml", "html", "http"];
  expect(samples.filter(({ language }) => !known.includes(language)).map(({ name }) => name)).toEqual([]);
  expect(Object.keys(NOT_RUN).filter((name) => !samples.some((sample) => sample.name === name))).toEqual([]);
  // tests/api/package.test.ts compiles TypeScript.
  expect(samples.filter(({ language, document }) => ["js", "python"].includes(language) && !(document in RUN_ELSEWHERE))).toEqual([]);
});

test.each(samples.filter(({ language }) => language === "yaml"))("YAML: $name", ({ text }) => {
  expect(parseAllDocuments(text).flatMap(({ errors }) => errors)).toEqual([]);
});

test.each(samples.filter(({ language }) => language === "json"))("JSON: $name", ({ text }) => {
  // An ellipsis stands for more members. A stream has a value in each line.
  const values = text.startsWith('{"type"') ? text.trim().split("\n") : [text];
  for (const value of values) expect(() => JSON.parse(value.replaceAll(/,\s*…/g, "")) as unknown).not.toThrow();
});

describe("the command line accepts the commands of", () => {
  test.each(shell.filter(isCommandLine))("$name", async ({ text }) => {
    for (const line of text.trim().split("\n")) {
      const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
      const args = words.filter((word) => word !== "npx").map((word) => (word === "logo.svg" ? LOGO : word));
      const program = await buildProgram(args.slice(1));
      const parsed = new Error("parsed");
      program.hook("preAction", () => Promise.reject(parsed));
      await expect(program.parseAsync(args.slice(1), { from: "user" })).rejects.toBe(parsed);
    }
  });
});

describeWith([machine.command("curl")], "against a server, each call succeeds of", () => {
  let server: SharedBerth;
  const folder = mkdtempSync(join(tmpdir(), "berth-samples-"));
  let env: Record<string, string>;

  beforeAll(async () => {
    await daemonRuntime();
    server = await shareBerth();
    const session = await server.api.create({ autoStartAgent: false });
    const key = (await server.api.call("POST", "/api/b2b/keys", { name: "sample", scope: "read" })).body as { id: string };
    env = {
      PATH: process.env.PATH ?? "",
      BASE: server.url,
      BERTH: server.url,
      KEY: server.key,
      ID: session.sessionId,
      KEY_ID: key.id,
    };
    mkdirSync(join(folder, ".berth"));
    writeFileSync(join(folder, ".berth/demo-api-key"), server.key);
  });

  afterAll(async () => {
    rmSync(folder, { recursive: true });
    for (const kind of ["sessions", "snapshots", "volumes"]) {
      const { body } = await server.api.call("GET", `/api/b2b/${kind}`);
      for (const { id, sessionId, volumeId } of (body as { data: { id?: string; sessionId?: string; volumeId?: string }[] }).data)
        await server.api.call("DELETE", `/api/b2b/${kind}/${id ?? volumeId ?? sessionId}`);
    }
  });

  test.each(shell.filter((sample) => !isCommandLine(sample)))("$name", async ({ text }) => {
    const script = text.replaceAll("localhost:8080", new URL(server.url).host).replaceAll("berth_…", server.key);
    // A sample that gets an error fails, also in front of a pipe.
    const prelude = 'set -eu -o pipefail\ncurl() { command curl --fail-with-body "$@"; }\n';
    const run = promisify(execFile)("bash", ["-c", `${prelude}${script}`], { cwd: folder, env });
    const failure = await run.then(
      () => null,
      ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
    );
    expect(failure).toBeNull();
  });
});

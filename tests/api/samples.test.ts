import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { buildProgram } from "../../cli/berth.ts";
import { inLanguages, readSamples, type Sample } from "../support/docs/samples.ts";
import { describeWith, machine } from "../support/machine.ts";
import { openShellReader, RUN_TIMEOUT_MS, runPython, runTypescript, type Failures, type ShellReader } from "./samples/run-samples.ts";
import { openWorld, type World } from "./samples/world.ts";

const RECIPE = "tests/api/programs.test.ts runs it in a repository";

// Every block of code in the documents is run or parsed. Blocks that cannot run here are in this list, with the reason.
const NOT_RUN: Record<string, string> = {
  "CONTRIBUTING.md: npm start          # sets everything up and runs the service on http://localhost:8080": "runs this suite",
  "CONTRIBUTING.md: npm test -- server/sessions/states/states.test.ts    # one file":
    "scripts/test.test.ts runs this form; others take hours",
  "README.md: npm start     # installs dependencies, builds the workspace, runs the service": "tests/conditions/stop.test.ts runs it",
  "clients/python/README.md: pip install \"$(curl -s -o /dev/null -w '%{redirect_url}' https://berth.example.com/clients/berth.whl)\"":
    "tests/api/clients/clients.test.ts installs the package",
  "client/README.md: npm install https://berth.example.com/clients/berth-client.tgz": "tests/api/package.test.ts installs the package",
  "docs/ssh.md: ssh ses_01k9zq3v8e4m7t2x5c6b9d0fgh.berth": "tests/api/ssh uses these clients",
  "docs/ssh.md: export BERTH_SERVER_URL=https://berth.example.com BERTH_SESSION_TOKEN=berth_st_…":
    "tests/api/ssh/access.test.ts connects with a token",
  "docs/agents.md: BERTH_MODEL_PROVIDER=anthropic BERTH_MODEL_API_KEY=sk-ant-… BERTH_MODEL_NAME=claude-sonnet-4-5 npm start":
    "needs a model",
  "docs/command-line.md: BERTH_MASTER_KEY=$(openssl rand -hex 32),<the old one>": "a setting; tests/operator/master-key.test.ts uses it",
  "docs/deploy.md: git clone … /opt/berth-server && cd /opt/berth-server": "needs systemd",
  "docs/deploy.md: printf 'kernel.pty.max = 33024\\nkernel.pid_max = 4194304\\n' > /etc/sysctl.d/60-berth.conf && sysctl --system":
    "changes the machine",
  "docs/deploy.md: docker build -f deploy/Dockerfile.sandbox -t berth-sandbox .": "needs a registry",
  "docs/kubernetes.md: docker build -f deploy/Dockerfile -t registry.example.com/berth:0.2.0 .": "needs a registry and a cluster",
  "docs/kubernetes.md: docker buildx build --platform linux/amd64,linux/arm64 -f deploy/Dockerfile -t registry.example.com/berth:0.2.0 --push .":
    "needs a registry",
  "docs/kubernetes.md: kubectl apply -f deploy/kubernetes/warm-pool.yaml      # one for each template": "needs a cluster",
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
  "docs/sandbox.md: set -eu -o pipefail": RECIPE,
  'docs/sandbox.md: import { execFileSync } from "node:child_process";': RECIPE,
  "docs/sandbox.md: import os, subprocess, sys": RECIPE,
  "docs/templates.md: mkdir -p /srv/roots/python": "needs a registry",
  "docs/templates.md: npm run image          # builds the target `tools` of deploy/Dockerfile.sandbox, and writes .berth/berth-tools.tar":
    "needs a registry",
  "docs/isolation.md: systemd-run --user --scope -p Delegate=yes npm start": "needs systemd",
};

// Documents whose commands another test runs as they are written.
const RUN_ELSEWHERE: Record<string, string> = {
  "clients/computesdk/README.md": "tests/api/clients/computesdk.test.ts",
  "docs/backup.md": "tests/operator/backup.test.ts",
  "docs/tutorial.md": "tests/browser/tutorial.test.ts",
};

const SHELL = ["", "sh", "bash"];
// Any picture that the command may read.
const LOGO = join(import.meta.dirname, "../../web/public/assets/icon.svg");
const samples = readSamples();
const isRun = ({ name, document }: Sample) => !(name in NOT_RUN) && !(document in RUN_ELSEWHERE);
const shell = samples.filter((sample) => SHELL.includes(sample.language) && isRun(sample));
const isCommandLine = ({ text }: Sample) => /^(npx )?berth /.test(text);

test("every sample has a language that is run or parsed, and the lists name only samples that exist", () => {
  const known = [...SHELL, "ts", "python", "json", "yaml", "html", "http"];
  expect(samples.filter((sample) => isRun(sample) && !known.includes(sample.language)).map(({ name }) => name)).toEqual([]);
  expect(Object.keys(NOT_RUN).filter((name) => !samples.some((sample) => sample.name === name))).toEqual([]);
});

test("the guides have every call of the API in TypeScript, Python and curl, one below the other", () => {
  const guides = samples.filter(({ document }) => document === "README.md" || document.startsWith("docs/"));
  const incomplete = inLanguages(guides, ["ts", "python", "bash"]).filter((group) => group.length < 3 || group[0]!.language !== "ts");
  expect(incomplete.map(([first]) => first!.name)).toEqual([]);
  // The language of an operator's commands is sh.
  const calls = guides.filter(({ language, text }) => ["", "sh"].includes(language) && /curl .*(\/api\/b2b|SANDBOX_URL)/.test(text));
  expect(calls.map(({ name }) => name)).toEqual([]);
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

describe("against a server, in order", () => {
  let world: World;

  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  describe("TypeScript compiles and runs:", () => {
    const typescript = samples.filter((sample) => sample.language === "ts" && isRun(sample));
    let findings: string;
    let failures: Failures;

    beforeAll(async () => {
      ({ findings, failures } = await runTypescript(world, typescript));
    }, RUN_TIMEOUT_MS);
    test("every sample has valid types", () => expect(findings).toBe(""));
    test.each(typescript.map(({ name }, at) => ({ name, at })))("$name", ({ at }) => expect(failures[at]).toBeUndefined());
  });

  describeWith(machine.python, "Python runs:", () => {
    const python = samples.filter((sample) => sample.language === "python" && isRun(sample));
    let failures: Failures;

    beforeAll(async () => {
      failures = await runPython(world, python);
    }, RUN_TIMEOUT_MS);
    test.each(python.map(({ name }, at) => ({ name, at })))("$name", ({ at }) => expect(failures[at]).toBeUndefined());
  });

  describeWith([machine.command("curl"), machine.command("jq"), machine.command("openssl")], "each command succeeds of", () => {
    let reader: ShellReader;

    beforeAll(async () => {
      reader = await openShellReader(world);
    });
    test.each(shell.filter((sample) => !isCommandLine(sample)))("$name", async (sample) => {
      expect(await reader.run(sample)).toBeNull();
    });
  });
});

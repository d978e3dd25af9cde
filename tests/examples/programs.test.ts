import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { createBerth, type Session } from "../../client/index.ts";
import { installPython, PYTHON } from "../api/clients/python-runner.ts";
import { modelSettings, preferredAgent as agent, serverSettings } from "../support/agents/agents.ts";
import { startModelServer, type ModelServer } from "../support/agents/model-server.ts";
import { startGitServer, type GitServer } from "../support/git/git-server.ts";
import { machine, testWith } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { examples } from "./example-app.ts";

// The examples without pages, used as their READMEs say, on one server.
// Some agents take a minute to start on a busy machine.
describe("the example", { timeout: 300_000 }, () => {
  const resources = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "berth-example-"));
  let model: ModelServer;
  let git: GitServer;
  let berth: Berth;

  beforeAll(async () => {
    model = resources.use(await startModelServer());
    git = resources.use(await startGitServer(TOKEN));
    const settings = { ...(await serverSettings(agent, resources)), ...modelSettings(model), BERTH_EGRESS_ALLOW: git.address };
    berth = resources.use(await startBerth(settings));
  });
  afterAll(async () => {
    await resources.disposeAsync();
    rmSync(folder, { recursive: true });
  });

  const environment = (more: Record<string, string> = {}) => ({
    PATH: process.env.PATH ?? "",
    BERTH_URL: berth.url,
    BERTH_API_KEY: berth.key,
    ...more,
  });

  testWith(machine.python, "batch-runner goes on after it was killed, without running a job twice", async () => {
    const client = createBerth({ baseUrl: berth.url, apiKey: berth.key });
    await installPython(berth.url, join(folder, "python"));
    writeFileSync(join(folder, "jobs.json"), JSON.stringify(JOBS));
    writeFileSync(join(folder, "make.sh"), "mkdir out && echo made > out/made.txt && echo built\n");
    const results = join(folder, "results");
    const run = () => {
      const args = [join(examples, "batch-runner/batch.py"), join(folder, "jobs.json"), "--parallel", "2", "--results", results];
      return spawn(PYTHON, args, { env: environment({ PYTHONPATH: join(folder, "python") }) });
    };
    const log = (name: string) => readFileSync(join(results, name), "utf8");

    const killed = run();
    let output = "";
    for (const stream of [killed.stdout, killed.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
    const ended = once(killed, "close");
    await expect.poll(() => existsSync(join(results, "fails.json")) && output.includes("[waits] started"), { timeout: 60_000 }).toBe(true);
    const live = () => sessionsOf(client, "running");
    await expect.poll(async () => (await live()).map(({ metadata }) => metadata?.["job"])).toEqual(["waits"]);
    killed.kill("SIGKILL");
    await ended;
    expect(output.split("\n").filter((line) => line.startsWith("[build] "))).toEqual(["[build] built", "[build] exit 0"]);

    const [waits] = await live();
    await waits!.files.write("go", "");
    const second = run();
    let rest = "";
    for (const stream of [second.stdout, second.stderr]) stream.on("data", (chunk) => (rest += String(chunk)));
    expect((await once(second, "close"))[0]).toBe(1);
    expect(rest).toContain("[build] finished before");
    expect(rest.split("\n").slice(-3)).toEqual(["2 of 3 jobs succeeded", "failed: fails", ""]);

    expect(log("waits.log")).toBe("started\nwent on\n");
    expect(["build.json", "waits.json", "fails.json"].map(log).map((text) => JSON.parse(text) as object)).toEqual([
      { exitCode: 0, attempts: 1 },
      { exitCode: 0, attempts: 1 },
      { exitCode: 3, attempts: 2 },
    ]);
    expect(readFileSync(join(results, "build/out.zip")).includes("made.txt")).toBe(true);
    expect(await live()).toEqual([]);
    expect((await sessionsOf(client, "destroyed")).length).toBe(4);
    expect(await mostAtOnce(client)).toBe(2);
  });

  testWith([agent.missing, machine.command("git")], "issue-agent fixes an issue with a real agent and opens a pull request", async () => {
    git.addRepository("acme/shop", { "price.sh": "echo $((2 + 3))\n", "test.sh": '[ "$(sh price.sh)" = 6 ]\n' });
    await using host = await startGitHost(git);
    model.script = [
      ...(agent.read ? [agent.read("/workspace/price.sh")] : []),
      agent.edit("/workspace/price.sh", "2 + 3", "2 * 3"),
      agent.shell("sh test.sh"),
      { say: "The prices are multiplied now." },
    ];
    writeFileSync(join(folder, "issue.md"), "Prices are added\n\nTwo times three must be six.\n");
    const running = () => sessionsOf(createBerth({ baseUrl: berth.url, apiKey: berth.key }), "running");
    const before = await running();
    const settings = { GIT_HOST: `http://${git.address}`, GIT_HOST_API: host.url, GIT_TOKEN: TOKEN, TEST_COMMAND: "sh test.sh" };
    const fix = (repository: string) =>
      new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
        const args = [join(examples, "issue-agent/fix-issue.ts"), repository, join(folder, "issue.md")];
        execFile(process.execPath, args, { env: environment(settings) }, (error, stdout, stderr) =>
          resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
        );
      });

    const done = await fix("acme/shop");
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toMatch(/^modified price\.sh\nhttps:\/\/git\.example\/acme\/shop\/pull\/1\n$/m);
    const [request] = host.pullRequests as [{ head: string }];
    expect(request).toEqual({
      title: "Prices are added",
      head: expect.stringMatching(/^fix\/[0-9a-f]{12}$/),
      base: "main",
      body: "The prices are multiplied now.\n\n`sh test.sh` passes.",
      draft: false,
    });
    expect(git.git("acme/shop", "show", `${request.head}:price.sh`)).toBe("echo $((2 * 3))\n");
    expect(git.git("acme/shop", "log", "--format=%s", `main..${request.head}`)).toBe("Prices are added\n");
    expect(git.git("acme/shop", "log", "--format=%s", "main")).toBe("first\n");
    const prompts = JSON.stringify(model.requests.map(({ body }) => body));
    expect([prompts.includes("Two times three must be six"), prompts.includes(TOKEN)]).toEqual([true, false]);

    const failed = await fix("acme/nothing");
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("The repository could not be fetched");
    expect(host.pullRequests).toHaveLength(1);
    expect(await running()).toEqual(before);
  });
});

const TOKEN = "the-token-that-never-enters-a-sandbox";

const JOBS = [
  { name: "build", files: ["make.sh"], command: "sh make.sh", artifacts: ["out"] },
  { name: "waits", command: "echo started; while [ ! -e go ]; do sleep 0.1; done; echo went on" },
  { name: "fails", command: "echo trying; exit 3", attempts: 2 },
];

// The part of GitHub's API that the example uses: it creates a pull request if the branches exist.
async function startGitHost(git: GitServer) {
  const pullRequests: object[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const { head, base, ...rest } = (await json(request)) as { head: string; base: string };
      const repository = /^\/repos\/(\w+\/\w+)\/pulls$/.exec(request.url ?? "")?.[1];
      if (request.headers.authorization !== `Bearer ${TOKEN}`) return response.writeHead(401).end();
      if (request.method !== "POST" || repository === undefined) return response.writeHead(404).end();
      const branches = git.git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n");
      if (![head, base].every((branch) => branches.includes(branch))) return response.writeHead(422).end();
      const number = pullRequests.push({ head, base, ...rest });
      const body = { number, html_url: `https://git.example/${repository}/pull/${number}` };
      return response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(body));
    })();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pullRequests,
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections();
      await once(server, "close");
    },
  };
}

type Client = ReturnType<typeof createBerth>;

async function sessionsOf(client: Client, status: "running" | "destroyed"): Promise<Session[]> {
  const found: Session[] = [];
  for await (const session of client.sessions.list({ status })) found.push(session);
  return found;
}

// The largest number of sessions that lived at the same time.
async function mostAtOnce(client: Client): Promise<number> {
  let [now, most] = [0, 0];
  for await (const { type } of client.events.list()) {
    if (type === "session.created") most = Math.max(most, ++now);
    if (type === "session.destroyed") now--;
  }
  return most;
}

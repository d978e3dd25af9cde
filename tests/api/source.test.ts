import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBerth, type Berth as Client, type BerthEvent, type Session } from "../../client/index.ts";
import { findSecretScript } from "../support/git/find-secret.ts";
import { startGitServer, type GitServer } from "../support/git/git-server.ts";
import { describeWith, machine } from "../support/machine.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";

const TOKEN = "the-token-that-never-enters-a-sandbox";
let git: GitServer;
// An API that answers with the credential's length, the path and the body of a request.
let api: Server;
let apiAddress: string;

beforeAll(async () => {
  git = await startGitServer(TOKEN);
  git.addRepository("secret", { "README.md": "another repository\n" });
  api = createServer((request, response) => {
    response.write(`${request.headers["x-api-key"]?.length} ${request.url} `);
    request.pipe(response);
  }).listen(0, "127.0.0.1");
  await once(api, "listening");
  apiAddress = `127.0.0.1:${(api.address() as AddressInfo).port}`;
});

afterAll(async () => {
  await git[Symbol.asyncDispose]();
  api.close();
  api.closeAllConnections();
});

describeWith([await machine.oci(), machine.command("git")], "a session from a repository, in a container", () =>
  suite("oci", { node: "/opt/berth/bin/node", memory: true }),
);
describeWith(machine.command("git"), "a session from a repository, in processes", () =>
  // This driver's processes are those of the machine, and the server's memory has the token.
  suite("process", { node: join(import.meta.dirname, "../../daemon/dist/host/node"), memory: false }),
);

function suite(driver: string, { node, memory }: { node: string; memory: boolean }): void {
  let server: Berth;
  let berth: Client;

  beforeAll(async () => {
    await daemonRuntime();
    git.addRepository(driver, { "README.md": "a shop\n", ".berth/setup": "echo prepared > prepared.txt; exit 3\n" });
    server = await startBerth({ BERTH_DRIVER: driver, BERTH_EGRESS_ALLOW: `${git.address},${apiAddress}` });
    berth = createBerth({ baseUrl: server.url, apiKey: server.key });
  });

  afterAll(() => server[Symbol.asyncDispose]());

  async function create(body: object, query = "?wait=source"): Promise<Session> {
    const response = await server.api.call("POST", `/api/b2b/sessions${query}`, { externalUserId: "ada", autoStartAgent: false, ...body });
    expect(response).toMatchObject({ status: 201 });
    return berth.sessions.get((response.body as Session).sessionId);
  }

  async function eventsOf(session: Session): Promise<BerthEvent[]> {
    const events: BerthEvent[] = [];
    for await (const event of berth.events.list()) if (event.data.sessionId === session.sessionId) events.push(event);
    return events;
  }

  test("a person changes a private repository and pushes, and the token is nowhere in the sandbox", async () => {
    const url = git.url(driver);
    const session = await create({
      source: { git: { url, token: TOKEN } },
      relays: [{ name: "PRICES", upstream: `http://${apiAddress}/v1`, header: "X-Api-Key", value: TOKEN }],
    });
    expect(session).toMatchObject({ source: { git: { url }, status: "ready", reason: null } });
    const run = (...command: string[]) => server.api.exec(session.sandboxId, command);
    const shell = (command: string) => run("sh", "-c", command);
    expect(await server.api.readFile(session.sandboxId, "README.md")).toEqual(Buffer.from("a shop\n"));

    const commit = "git config user.name Ada && git config user.email ada@example.com && echo more >> README.md && git commit -qam second";
    expect(await shell(`${commit} && git push -q origin main && git fetch -q`)).toMatchObject({ code: 0 });
    expect(git.git(driver, "log", "--format=%s", "main")).toBe("second\nfirst\n");

    // The relay of the repository reaches no other one, and no other part of its server.
    const relay = "$(git config --get-regexp 'url.*insteadof' | cut -d' ' -f1 | sed 's/^url.//; s/.insteadof$//')";
    expect(await shell(`git ls-remote ${relay}/../secret`)).toMatchObject({ code: 128, stderr: /only for its own repository|403/ });
    expect((await shell(`curl -s ${relay}/config; curl -s -d x ${relay}/info/lfs`)).stdout).toMatch(/^(berth: The token.*\n){2}$/);
    expect(git.requests.filter((path) => !path.startsWith(`/${driver}.git/`) && path.includes(driver))).toEqual([]);

    // Any other API works the same way.
    expect((await shell('curl -s -d hello "$BERTH_RELAY_PRICES/list?all"')).stdout).toBe(`${TOKEN.length} /v1/list?all hello`);
    await session.update({ relays: [{ name: "PRICES", value: "renewed" }] });
    expect((await shell('curl -s "$BERTH_RELAY_PRICES"')).stdout).toBe(`${"renewed".length} /v1 `);
    expect((await shell('curl -s --path-as-is "$BERTH_RELAY_PRICES/../admin"')).stdout).toContain("not below the address");

    const reversed = TOKEN.split("").reverse().join("");
    const folders = (await shell('echo "$HOME"; pwd')).stdout.trim().split("\n");
    const looked = await run(node, "-e", findSecretScript({ memory }), reversed, ...folders, ...(memory ? ["/tmp", "/run", "/etc"] : []));
    const { found, bytes } = JSON.parse(looked.stdout) as { found: string[]; bytes: number };
    expect(found).toEqual([]);
    expect(bytes).toBeGreaterThan(memory ? 1_000_000 : 1_000);

    await expect
      .poll(async () => (await eventsOf(session)).map(({ type }) => type), { timeout: 30_000 })
      .toContain("session.setup_finished");
    expect(await server.api.readFile(session.sandboxId, "prepared.txt")).toEqual(Buffer.from("prepared\n"));
    const finished = (await eventsOf(session)).find(({ type }) => type === "session.setup_finished");
    expect(finished?.data).toMatchObject({ exitCode: 3 });
    const everything = JSON.stringify([await eventsOf(session), await berth.sessions.get(session.sessionId)]);
    expect(`${everything}${server.output()}`).not.toContain(TOKEN);
  });

  test("a wrong token fails the source in plain words, and a renewed one repairs it", async () => {
    const session = await create({ source: { git: { url: git.url(driver), token: "wrong", path: "code/shop" } } });
    const reason = "The git server did not accept the token.";
    expect(session.source).toMatchObject({ status: "failed", reason });
    expect((await eventsOf(session)).at(-1)).toMatchObject({ type: "session.source_failed", data: { source: { reason } } });
    expect(await server.api.exec(session.sandboxId, "echo usable")).toMatchObject({ stdout: "usable\n" });

    await session.update({ source: { git: { token: TOKEN } } });
    await expect.poll(async () => (await session.refresh()).source?.status, { timeout: 30_000 }).toBe("ready");
    expect(await server.api.readFile(session.sandboxId, "code/shop/README.md")).not.toBeNull();
  });

  test("a server that is killed while a repository is fetched finishes it after its restart", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    git.gate = promise;
    const before = git.requests.length;
    const session = await create({ source: { git: { url: git.url(driver), token: TOKEN, depth: 1 } } }, "");
    await expect.poll(() => git.requests.length, { timeout: 30_000 }).toBeGreaterThan(before);
    expect(session.source?.status).toBe("pending");
    await server.kill();
    resolve();
    await server.start();
    await expect.poll(async () => (await session.refresh()).source?.status, { timeout: 60_000 }).not.toBe("pending");
    expect(session.source).toMatchObject({ status: "ready" });
    expect((await eventsOf(session)).filter(({ type }) => type === "session.source_ready")).toHaveLength(1);
  });
}

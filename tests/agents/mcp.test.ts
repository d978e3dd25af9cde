import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Session, SessionRead } from "@berth/contract";
import { createAgentCalls, wordsOf, type AgentCalls } from "../support/agents/agent-calls.ts";
import { modelSettings, preferredAgent, serverSettings } from "../support/agents/agents.ts";
import { startNotesServer, type NotesServer } from "../support/agents/mcp-server.ts";
import { type ModelServer, startModelServer } from "../support/agents/model-server.ts";
import { findSecretScript } from "../support/git/find-secret.ts";
import { describeWith, machine } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";

describeWith([preferredAgent.missing, await machine.oci()], `${preferredAgent.name} with MCP servers`, () => {
  const secret = randomBytes(24).toString("hex");
  const resources = new AsyncDisposableStack();
  let model: ModelServer;
  let notes: NotesServer;
  let berth: Berth;
  let session: Session;
  let calls: AgentCalls;

  beforeAll(async () => {
    model = resources.use(await startModelServer());
    notes = resources.use(await startNotesServer({ header: "x-notes-key", value: secret, answer: "buy figs" }));
    const settings = { ...(await serverSettings(preferredAgent, resources)), ...modelSettings(model) };
    berth = resources.use(await startBerth({ ...settings, BERTH_DRIVER: "oci", BERTH_EGRESS_ALLOW: notes.address }));
    session = await berth.api.create({
      autoStartAgent: false,
      relays: [{ name: "OWN", upstream: notes.url, header: "X-Other", value: "x" }],
      mcpServers: [
        { name: "notes", url: notes.url, header: "X-Notes-Key", value: secret },
        { name: "locked", url: notes.url },
        { name: "elsewhere", url: "http://127.0.0.1:9/mcp" },
        { name: "local", command: "no-such-program", args: ["--stdio"] },
      ],
    });
    calls = createAgentCalls(berth, session);
  });
  afterAll(() => resources.disposeAsync());

  test("calls a tool of a server whose credential only the Berth server has", async () => {
    const tool = preferredAgent.name === "goose" ? "notes__find" : "notes_find";
    // On a busy machine opencode may give up on the server. Every conversation connects to it again.
    const ask = async () => {
      model.script = [{ tool, input: { word: "shopping" } }, { say: "Figs." }];
      expect(wordsOf(await calls.prompt("What is in my notes?"))).toBe("Figs.");
      return JSON.stringify(model.requests.at(-1)?.body.messages);
    };
    await expect.poll(ask, { timeout: 60_000 }).toContain("buy figs");
    expect(notes.admitted.length).toBeGreaterThan(0);

    const { sandboxId } = session;
    const reversed = secret.split("").reverse().join("");
    const script = findSecretScript({ memory: false });
    const looked = await berth.api.exec(sandboxId, ["/opt/berth/bin/node", "-e", script, reversed, "/workspace", "/home/user", "/tmp"]);
    const { found, bytes } = JSON.parse(looked.stdout) as { found: string[]; bytes: number };
    expect(found).toEqual([]);
    expect(bytes).toBeGreaterThan(10_000);
    expect(berth.output()).not.toContain(secret);
  });

  test("says which servers answer, and why the others do not", async () => {
    await expect
      .poll(async () => (await calls.state()).mcpServers, { timeout: 20_000 })
      .toEqual([
        { name: "notes", status: "ready" },
        { name: "locked", status: "failed", message: "It answered with status 401." },
        { name: "elsewhere", status: "failed", message: expect.stringMatching(/127\.0\.0\.1/) as string },
        { name: "local", status: "failed", message: "no-such-program is not installed in this sandbox." },
      ]);
  });

  test("uses a renewed credential from the next request on", async () => {
    const { sessionId, sandboxId } = session;
    const renew = (name: string, value: string) =>
      berth.api.call("PATCH", `/api/b2b/sessions/${sessionId}`, { mcpServers: [{ name, value }] });
    const relay = "http://127.0.0.1:3128/relay/$(echo $BERTH_RELAY_OWN | cut -d/ -f5)/mcp_notes";
    const status = async () => (await berth.api.exec(sandboxId, `curl -s -o /dev/null -w '%{http_code}' -X DELETE ${relay}`)).stdout;
    expect(await status()).toBe("405");
    expect((await renew("notes", "wrong")).status).toBe(200);
    expect(await status()).toBe("401");
    expect((await renew("notes", secret)).status).toBe(200);
    for (const name of ["locked", "local", "none"])
      expect((await renew(name, "x")).body).toMatchObject({ details: [{ field: "mcpServers.0.name" }] });
  });

  test("shows partners names and hosts, and no secrets", async () => {
    const { body } = await berth.api.call("GET", `/api/b2b/sessions/${session.sessionId}?expand=details`);
    expect((body as SessionRead).mcpServers).toEqual([
      { name: "notes", host: notes.address },
      { name: "locked", host: notes.address },
      { name: "elsewhere", host: "127.0.0.1:9" },
      { name: "local", command: "no-such-program" },
    ]);
    expect(JSON.stringify(body)).not.toContain(secret);
  });

  test("refuses servers that are not valid, and names the field", async () => {
    const refused = async (server: object) => {
      const { status, body } = await berth.api.call("POST", "/api/b2b/sessions", { externalUserId: "ada", mcpServers: [server] });
      return [status, (body as { details: { field: string }[] }).details.map(({ field }) => field)];
    };
    expect(await refused({ name: "a b", command: "x" })).toEqual([400, ["mcpServers.0.name"]]);
    expect(await refused({ name: "a", url: "file:///etc" })).toEqual([400, ["mcpServers.0.url"]]);
    expect(await refused({ name: "a" })).toEqual([400, ["mcpServers.0.url"]]);
    expect(await refused({ name: "a", url: notes.url, header: "Host", value: "x" })).toEqual([400, ["mcpServers.0.header"]]);
    expect(await refused({ name: "a", url: notes.url, header: "X-Key" })).toEqual([400, ["mcpServers.0.value"]]);
  });
});

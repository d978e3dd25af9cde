import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { client as acpClient, methods, ndJsonStream, PROTOCOL_VERSION, type SessionUpdate } from "@agentclientprotocol/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createBerth, type Berth as Client, type Session } from "../../client/index.ts";
import { readScriptedAgent } from "../support/agents/scripted-agent.ts";
import { createApi } from "../support/servers/api.ts";
import { cliEnv, cliPath } from "../support/servers/cli.ts";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";

const HOUR_MS = 3_600_000;

describe("a session token", () => {
  let berth: SharedBerth;
  let client: Client;
  let session: Session;
  beforeAll(async () => {
    berth = await shareBerth();
    client = createBerth({ apiKey: berth.key, baseUrl: berth.url });
    session = await client.sessions.create({ externalUserId: "ada", template: "scripted", autoStartAgent: false, autoResume: true });
    await session.files.write("agent.mjs", await readScriptedAgent());
  });
  afterAll(() => session.destroy());

  const previewHost = (port: number) =>
    `${port}-${session.sandboxId.replace("_", "-")}.${new URL(berth.url).host.replace("127.0.0.1", "localhost")}`;

  test("runs commands in its sandbox without the key, also after a pause, until it is revoked", async () => {
    const { token, tokenId } = await session.tokens.create({ scopes: ["exec"], ttlMs: HOUR_MS, name: "script" });
    const script = createApi(berth.url, token);
    expect((await script.exec(session.sandboxId, "echo $((6 * 7))")).stdout).toBe("42\n");
    expect((await script.call("GET", `/sandboxes/${session.sandboxId}/files`)).status).toBe(403);
    expect((await script.call("GET", "/api/b2b/sessions")).status).toBe(403);
    await session.pause();
    expect((await script.exec(session.sandboxId, "echo awake")).stdout).toBe("awake\n");
    expect(await session.tokens.list()).toMatchObject([{ tokenId, name: "script", state: "active" }]);
    await session.tokens.revoke(tokenId);
    expect((await script.call("GET", `/sandboxes/${session.sandboxId}/health`)).status).toBe(401);
  });

  test("and a preview URL open a web server on their port only, and it sees neither", async () => {
    const program =
      "require('http').createServer((q, s) => s.end(JSON.stringify([q.url, q.headers]))).listen(3000, () => console.log('up'))";
    const server = await session.processes.start(["node", "-e", program]);
    await expect.poll(async () => (await session.exec("curl -s -o /dev/null -w '%{http_code}' http://localhost:3000/")).stdout).toBe("200");

    const { token } = await session.tokens.create({ scopes: ["ports"], ports: [3000], ttlMs: HOUR_MS });
    const curl = async (port: number, path: string, ...args: string[]) => {
      const { port: own } = new URL(berth.url);
      const child = spawn("curl", [
        "-s",
        "--resolve",
        `*:${own}:127.0.0.1`,
        ...args,
        path.startsWith("http") ? path : `http://${previewHost(port)}${path}`,
      ]);
      let output = "";
      child.stdout.on("data", (data) => (output += String(data)));
      await once(child, "close");
      return output;
    };
    const seen = await curl(3000, "/app?a=1", "-H", `Authorization: Bearer ${token}`);
    expect(seen).toContain('"/app?a=1"');
    expect(seen).not.toContain(token);
    const status = ["-o", "/dev/null", "-w", "%{http_code}"];
    expect(await curl(3001, "/", ...status, "-H", `Authorization: Bearer ${token}`)).toBe("403");
    expect(await curl(3000, "/", ...status)).toBe("401");

    const { url } = await session.previewUrl(3000, { ttlMs: HOUR_MS, path: "/page" });
    const opened = await curl(3000, url, "-L", "-c", "", "-w", " %{url_effective}");
    expect(opened).toContain('"/page"');
    expect(opened.split(" ").at(-1)).toBe(`http://${previewHost(3000)}/page`);
    expect(opened).not.toMatch(/sig=|berth-preview/);
    expect(await curl(3001, url.replace("3000-", "3001-"), ...status)).toBe("401");
    await server.remove();
  });

  test("connects an editor with the agent, through `berth acp`, in the conversation that the workspace shows", async () => {
    const place = { ...berth, env: { ...berth.env, BERTH_API_KEY: berth.key } };
    const editor = spawn(process.execPath, [cliPath, "acp", session.sessionId], { env: cliEnv(place), stdio: ["pipe", "pipe", "inherit"] });
    const stream = ndJsonStream(
      Writable.toWeb(editor.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(editor.stdout) as ReadableStream<Uint8Array>,
    );
    const updates: SessionUpdate[] = [];
    const { agent } = acpClient({ name: "editor" })
      .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
      .connect(stream);
    await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd: "/home/ada", mcpServers: [] });
    const prompt = [{ type: "text" as const, text: "hello from the desktop" }];
    expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt })).toEqual({ stopReason: "end_turn" });
    expect(JSON.stringify(updates)).toContain("hello from the desktop (mode ask");
    const { body } = await berth.api.call("GET", `/sandboxes/${session.sandboxId}/agent/conversations/${sessionId}`);
    expect(body).toMatchObject({ conversation: { title: "hello from the desktop" } });
    const named = async () =>
      (await session.tokens.list()).filter(({ name }) => name === "berth acp").map(({ scopes, state }) => [scopes, state]);
    expect(await named()).toEqual([[["agent"], "active"]]);
    editor.stdin.end();
    expect((await once(editor, "exit"))[0]).toBe(0);
    expect(await named()).toEqual([[["agent"], "revoked"]]);
  });

  test("is refused after its session is destroyed", async () => {
    const other = await client.sessions.create({ externalUserId: "bob", autoStartAgent: false });
    const { token } = await other.tokens.create({ scopes: ["exec", "runs"], ttlMs: HOUR_MS });
    await other.destroy();
    const script = createApi(berth.url, token);
    expect([401, 404]).toContain((await script.call("GET", `/sandboxes/${other.sandboxId}/health`)).status);
    await expect
      .poll(async () => (await script.call("GET", `/api/b2b/sessions/${other.sessionId}/runs`)).status, { timeout: 6000 })
      .toBe(401);
  });
});

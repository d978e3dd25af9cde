import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request as httpRequest } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId, type SandboxId, type Template } from "@berth/contract";
import { openMigratedStore } from "../../../../tests/support/databases/migrated.ts";
import { systemClock } from "../../../clock.ts";
import { silentLog } from "../../../log.ts";
import { createSecrets } from "../../../secrets/secrets.ts";
import type { Store } from "../../../store/open.ts";
import { insertPartner } from "../../../store/store.suite.ts";
import { insertSessionRow, sessionRow } from "../../../store/testing/session-row.ts";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import { createModelRelay, type ModelRelay, type ModelRelayDeps } from "../model-relay.ts";

export const TEST_KEY = "sk-the-real-key-never-in-a-sandbox";

export interface TestRelay extends AsyncDisposable {
  store: Store;
  relay: ModelRelay;
  // Adds a session with its own sandbox.
  addSandbox(): Promise<TestSandbox>;
}

export interface TestSandbox {
  sandboxId: SandboxId;
  sessionId: string;
  env: Record<string, string>;
  token: string;
  open(path: string, body: object | string | Buffer | null, headers?: Record<string, string>): Promise<IncomingMessage>;
  ask(path: string, body: object | string | Buffer | null, headers?: Record<string, string>): Promise<Reply>;
  // Opens a connection for raw bytes.
  connect(): Socket;
}

export interface Reply {
  status: number | undefined;
  headers: IncomingMessage["headers"];
  text: string;
}

export interface TestRelayOptions extends Partial<Omit<ModelRelayDeps, "config" | "templates">> {
  upstreamUrl: string;
  config?: Partial<ModelRelayDeps["config"]>;
  template?: Partial<Template>;
}

// Starts a relay with a store of its own. Each sandbox has a plain HTTP server that treats every caller as that sandbox, like its
// egress socket.
export async function startTestRelay({ upstreamUrl, config, template, ...deps }: TestRelayOptions): Promise<TestRelay> {
  await using opening = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "berth-model-"));
  opening.defer(() => rm(folder, { recursive: true, force: true }));
  const store = opening.use(await openMigratedStore({ url: null, file: join(folder, "berth.db"), log: silentLog }));
  await insertPartner(store, "acme");
  const sandboxTemplate = { ...DEFAULT_TEMPLATE, ...template };
  const relay = createModelRelay({
    config: {
      modelProvider: "openai",
      modelBaseUrl: `${upstreamUrl}/v1`,
      modelApiKey: TEST_KEY,
      modelName: "the-model",
      modelTokenCap: null,
      modelMaxBodyMb: 4,
      modelRatePerMinute: 300,
      ...config,
    },
    templates: new Map([["default", sandboxTemplate]]),
    secrets: createSecrets([randomBytes(32)]),
    store,
    clock: systemClock,
    log: silentLog,
    env: {},
    ...deps,
  });
  let sandboxes = 0;

  async function addSandbox(): Promise<TestSandbox> {
    const sandboxId = newId("sbx", Date.now());
    const sessionId = newId("ses", Date.now());
    await insertSessionRow(store.db, sessionRow(++sandboxes, { id: sessionId, sandbox_id: sandboxId, external_user_id: "ada" }));
    const server = createServer((request, response) =>
      relay.handle(request, response, { sandboxId, count: () => {}, note: () => () => {} }),
    ).listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.defer(async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    });
    const { port } = server.address() as AddressInfo;
    const env = relay.env(sandboxId, sandboxTemplate);
    const token = env.OPENAI_API_KEY ?? env.ANTHROPIC_API_KEY ?? "";
    const open: TestSandbox["open"] = (path, body, headers = { authorization: `Bearer ${token}` }) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const request = httpRequest({ host: "127.0.0.1", port, path, method: body ? "POST" : "GET", headers, agent: false }, resolve);
        request.on("error", reject);
        request.end(body === null || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
      });
    return {
      sandboxId,
      sessionId,
      env,
      token,
      open,
      connect: () => connect(port, "127.0.0.1"),
      async ask(...args) {
        const response = await open(...args);
        let text = "";
        for await (const chunk of response) text += String(chunk);
        return { status: response.statusCode, headers: response.headers, text };
      },
    };
  }

  const closing = opening.move();
  return { store, relay, addSandbox, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

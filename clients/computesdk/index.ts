import { defineProvider, type Provider } from "@computesdk/provider";
import { createBerth, SessionNotFoundError, type BerthOptions, type Session } from "../../client/index.ts";
import { runCommand } from "./commands.ts";
import { toCreateSession } from "./create-request.ts";
import { filesystem } from "./filesystem.ts";
import { snapshotMethods, type BerthSnapshot } from "./snapshots.ts";

export interface BerthProviderOptions extends BerthOptions {
  // The user to whom the provider's sandboxes belong. `list` shows only these. Default: `computesdk`.
  externalUserId?: string;
  // The template of sandboxes that name none. Default: the server's.
  template?: string;
  // For how long a URL of `getUrl` can be used, at most 7 days. Default: one hour.
  urlTtlMs?: number;
}

export type BerthProvider = Provider<Session, never, BerthSnapshot>;
export type { BerthSnapshot } from "./snapshots.ts";
export { BerthError, type Session } from "../../client/index.ts";

const NAME = "berth";
const STATUS = { running: "running", paused: "stopped", destroyed: "stopped" } as const;

// Example: `compute.setConfig({ provider: berth({ baseUrl: "https://berth.example.com", apiKey: process.env.BERTH_API_KEY }) })`.
// A sandbox of ComputeSDK is a session of Berth, and has its id. `sandbox.getInstance()` returns the session.
export function berth(options: BerthProviderOptions): BerthProvider {
  const { externalUserId = "computesdk", template, urlTtlMs = 3_600_000, ...connection } = options;
  const { sessions, snapshots } = createBerth(connection);

  const provide = defineProvider<Session, null, never, BerthSnapshot>({
    name: NAME,
    methods: {
      sandbox: {
        // The signal is ComputeSDK's: it destroys a sandbox that arrives after the caller has given up.
        async create(_config, wanted = {}) {
          return named(await sessions.create({ externalUserId, ...(template !== undefined && { template }), ...toCreateSession(wanted) }));
        },
        async getById(_config, sandboxId) {
          const session = await sessions.get(sandboxId).catch((error: unknown) => {
            if (error instanceof SessionNotFoundError) return null;
            throw error;
          });
          return session === null || session.status === "destroyed" ? null : named(session);
        },
        async list() {
          const found: Named[] = [];
          for await (const session of sessions.list({ externalUserId })) if (session.status !== "destroyed") found.push(named(session));
          return found;
        },
        destroy: (_config, sandboxId) => sessions.destroy(sandboxId),
        runCommand,
        streamCommand: runCommand,
        async getInfo(session) {
          const { sessionId: id, status, createdAt, expiresAt, metadata = {} } = await session.refresh();
          // The time that is left.
          const timeout = expiresAt ? Math.max(0, Date.parse(expiresAt) - Date.now()) : 0;
          return { id, provider: NAME, status: STATUS[status], createdAt: new Date(createdAt), timeout, metadata };
        },
        async getUrl(session, { port, protocol = "https" }) {
          if (!/^https?$/.test(protocol)) throw new TypeError(`A URL of Berth opens by HTTP, not by ${protocol}`);
          return (await session.previewUrl(port, { ttlMs: urlTtlMs })).url;
        },
        filesystem,
      },
      snapshot: snapshotMethods(NAME, { sessions, snapshots }),
    },
  });
  return provide(null);
}

interface Named {
  sandbox: Session;
  sandboxId: string;
}

const named = (session: Session): Named => ({ sandbox: session, sandboxId: session.sessionId });

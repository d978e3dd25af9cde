import type { ForkedSessions, Snapshot } from "@berth/contract";
import { openCaller } from "../installation/server-call.ts";
import { facts, show } from "../terminal/output.ts";

// `berth session snapshot` and `berth session fork`, through the running server.

interface Options {
  json?: boolean;
  name?: string;
  count: number;
  user: string;
}

export async function takeSnapshot(id: string, options: Options): Promise<void> {
  const call = await openCaller();
  const { name } = options;
  const snapshot = await call<Snapshot>(`/api/b2b/sessions/${encodeURIComponent(id)}/snapshots`, name === undefined ? {} : { name });
  show(options, snapshot, () =>
    facts([
      ["snapshot", snapshot.id],
      ["session", snapshot.sessionId],
      ["size", snapshot.bytes === null ? "unknown" : `${Math.ceil(snapshot.bytes / 2 ** 20)} MiB`],
    ]),
  );
}

export async function forkSession(id: string, options: Options): Promise<void> {
  const call = await openCaller();
  const { count, user } = options;
  const { sessions } = await call<ForkedSessions>("/api/b2b/sessions", { externalUserId: user, source: { sessionId: id }, count });
  show(options, sessions, () => `${sessions.map(({ session, error }) => session?.sessionId ?? `failed: ${error?.message}`).join("\n")}\n`);
}

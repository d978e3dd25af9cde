import { withServer } from "../installation/server-call.ts";
import { facts, show } from "../terminal/output.ts";

// `berth session snapshot` and `berth session fork`, through the running server.

interface Options {
  json?: boolean;
  name?: string;
  count: number;
  user: string;
}

export async function takeSnapshot(id: string, options: Options): Promise<void> {
  const { name } = options;
  await withServer(async ({ sessions }) => {
    const session = await sessions.get(id);
    const snapshot = await session.snapshot(name === undefined ? {} : { name });
    show(options, snapshot, () =>
      facts([
        ["snapshot", snapshot.id],
        ["session", snapshot.sessionId],
        ["size", snapshot.bytes === null ? "unknown" : `${Math.ceil(snapshot.bytes / 2 ** 20)} MiB`],
      ]),
    );
  });
}

export async function forkSession(id: string, options: Options): Promise<void> {
  const { count, user } = options;
  await withServer(async ({ sessions }) => {
    const forks = await sessions.fork({ sessionId: id }, { externalUserId: user, count });
    show(options, forks, () => `${forks.map(({ session, error }) => session?.sessionId ?? `failed: ${error?.message}`).join("\n")}\n`);
  });
}

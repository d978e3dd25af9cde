import { setTimeout as sleep } from "node:timers/promises";
import { BerthError, type Session } from "@berth/client";
import type { Source } from "@berth/contract";
import { isPartnerSession } from "@berth/server/store/sessions/session.ts";
import { findSession } from "@berth/server/store/sessions/read.ts";
import { withStore } from "../context.ts";
import type { ServerCall } from "../installation/server-call.ts";
import { escapeExceptLayout } from "../terminal/escape-controls.ts";
import { noteMore } from "../terminal/output.ts";

export interface RepositorySetup {
  git: NonNullable<Source["git"]>;
  template: string;
  // Of the snapshot.
  name: string;
}

const USER = "berth-template-build";
const LOOK_EVERY_MS = 1_000;
// Far longer than a build and a setup. If this command is killed, the server ends the session after this time.
const TIMEOUT_MS = 4 * 60 * 60_000;
// A server that restarts continues with the session.
const MAX_SILENT_MS = 60_000;
const BUILD_LOG = ".berth/setup/build.log";

// Lets a session fetch a repository, build its image and run its setup, and takes a snapshot of it. Always destroys the session. `image` is
// undefined if the session runs in the image of its template.
export async function setUpRepository(
  { sessions, snapshots }: ServerCall,
  { git, template, name }: RepositorySetup,
  signal: AbortSignal,
): Promise<{ image: string | undefined; snapshotId: string }> {
  const limits = { idleTimeoutMs: null, timeoutMs: TIMEOUT_MS, onTimeout: "destroy" as const };
  const session = await sessions.create({ externalUserId: USER, template, source: { git }, ...limits });
  try {
    const image = await awaitSetup(session, signal);
    const { id: snapshotId } = await session.snapshot({ name });
    if (signal.aborted) await snapshots.remove(snapshotId);
    signal.throwIfAborted();
    return { image, snapshotId };
  } finally {
    await session.destroy().catch(() => {
      noteMore(
        `The session ${session.sessionId} could not be destroyed. It ends within four hours, or with: berth session destroy ${session.sessionId}`,
      );
    });
  }
}

async function awaitSetup(session: Session, signal: AbortSignal): Promise<string | undefined> {
  const { sessionId } = session;
  const log = createLog(session);
  let lastSeenMs = performance.now();
  for (let hasFiles = false; ; await sleep(LOOK_EVERY_MS, undefined, { signal })) {
    const now = await session.refresh().catch((error: unknown) => {
      const isTemporary = error instanceof BerthError && (error.status === undefined || error.status >= 500);
      if (isTemporary && performance.now() - lastSeenMs < MAX_SILENT_MS) return null;
      throw error;
    });
    signal.throwIfAborted();
    if (!now) continue;
    lastSeenMs = performance.now();
    const { source, setup, image, status } = now;
    if (status !== "running") throw new Error(`The session ${sessionId} was ${status} before it was set up.`);
    if (source?.status === "failed") throw new Error(`The repository could not be fetched. ${source.reason ?? ""}`);
    if (!hasFiles && source?.status === "ready") noteMore(`The repository is there. The Setup terminal of ${sessionId} shows the rest.`);
    hasFiles = source?.status === "ready";
    if (!hasFiles) continue;
    await log.showNew();
    if (setup?.status === "pending") continue;
    await checkImage(sessionId);
    if (setup?.exitCode) throw new Error(`The setup command ended with exit code ${setup.exitCode}.`);
    return image;
  }
}

// A session works without the image, but a template is made for it.
async function checkImage(sessionId: string): Promise<void> {
  await withStore(async ({ store }) => {
    const found = await findSession(store.db, sessionId);
    const image = found && isPartnerSession(found) ? found.setup?.image : undefined;
    if (image?.status === "failed")
      throw new Error(`The image of devcontainer.json is not used. ${image.reason ?? "The server's log says why."}`);
  });
}

// Shows the log of the build on stderr. While the sandbox restarts, the log cannot be read.
function createLog({ home }: Session) {
  let shown = 0;
  return {
    async showNew(): Promise<void> {
      const text = await home.readText(BUILD_LOG).catch(() => "");
      if (text.length > shown) process.stderr.write(escapeExceptLayout(text.slice(shown)));
      shown = Math.max(shown, text.length);
    },
  };
}

import { createHash } from "node:crypto";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isSandboxId, type SandboxId } from "@berth/contract";
import { readFileIfExists } from "../../bounded-io/read-small-file.ts";
import { createKeyedLock } from "../../fairness/keyed-lock.ts";
import type { Log } from "../../log.ts";
import { rulesOf } from "../../store/sessions/rules.ts";
import { isPartnerSession, type PartnerSession, type Session } from "../../store/sessions/session.ts";
import type { NewOwner } from "../../store/sessions/columns.ts";

// A copy of what the store knows about each session, beside the files of the sandboxes. If the store is lost, it says that a sandbox
// was used and by whom. Secrets are sealed in it as in the store.
//
// It is written after the answer and without a sync, so that no call waits for it. A sandbox without a record may be in use too.
export interface SessionRecords extends AsyncDisposable {
  // Writes when `untilQuiet` resolves. A session that ends before needs no record.
  note(session: Session, untilQuiet?: () => Promise<void>): void;
  read(sandboxId: SandboxId): Promise<string | null>;
  list(): Promise<Set<SandboxId>>;
  forget(sandboxId: SandboxId): Promise<void>;
}

export interface SessionRecord {
  sessionId: string;
  createdAtMs: number;
  template: string;
  owner: NewOwner;
}

export const RECORDS_FOLDER = "session-records";

export function createSessionRecords(dataDir: string, log: Log): SessionRecords {
  const folder = join(dataDir, RECORDS_FOLDER);
  const fileOf = (id: SandboxId) => join(folder, `${id}.json`);
  const written = new Map<SandboxId, string>();
  const waiting = new Map<SandboxId, PartnerSession>();
  let writing: Promise<void> | undefined;
  const pending = new Set<Promise<void>>();
  const withLock = createKeyedLock();

  function later(id: SandboxId, work: () => Promise<void>): Promise<void> {
    const done = withLock(id, work)
      .catch((error: unknown) => log.warn("session_record.failed", { sandboxId: id, error: String(error) }))
      .finally(() => pending.delete(done));
    pending.add(done);
    return done;
  }

  async function write(id: SandboxId, text: string): Promise<void> {
    const digest = createHash("sha256").update(text).digest("base64");
    if (written.get(id) === digest) return;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(`${fileOf(id)}.new`, text, { mode: 0o600 });
    await rename(`${fileOf(id)}.new`, fileOf(id));
    written.set(id, digest);
  }

  async function writeWaiting(): Promise<void> {
    for (const [id, session] of waiting) {
      waiting.delete(id);
      await later(id, () => write(id, JSON.stringify(recordOf(session))));
    }
    writing = undefined;
  }

  function forget(id: SandboxId): Promise<void> {
    waiting.delete(id);
    return later(id, async () => {
      written.delete(id);
      await rm(fileOf(id), { force: true });
    });
  }

  return {
    note(session, untilQuiet = async () => {}) {
      if (session.state === "destroyed") void forget(session.sandboxId);
      else if (isPartnerSession(session) && (session.state === "running" || session.state === "paused")) {
        waiting.set(session.sandboxId, session);
        writing ??= untilQuiet().then(writeWaiting);
      }
    },
    forget,
    async read(id) {
      const session = waiting.get(id);
      return session ? JSON.stringify(recordOf(session)) : ((await readFileIfExists(fileOf(id))) ?? null);
    },
    async list() {
      const names = await readdir(folder).catch((): string[] => []);
      return new Set([...waiting.keys(), ...names.map((name) => name.replace(/\.json$/, "")).filter(isSandboxId)]);
    },
    async [Symbol.asyncDispose]() {
      await writing;
      await Promise.all(pending);
    },
  };
}

// Used if sandboxes are not on this machine.
export const NO_RECORDS: SessionRecords = {
  note() {},
  forget: async () => {},
  read: async () => null,
  list: async () => new Set(),
  [Symbol.asyncDispose]: async () => {},
};

function recordOf(session: PartnerSession): SessionRecord {
  const { partnerId, externalUserId, autoStartAgent, timeoutMs, idleTimeoutMs, setup, sealedEnv, sealedRelays } = session;
  return {
    sessionId: session.id,
    createdAtMs: session.createdAtMs,
    template: session.template,
    owner: {
      partnerId,
      externalUserId,
      metadata: JSON.parse(session.metadataJson) as Record<string, string>,
      autoStartAgent,
      timeoutMs,
      idleTimeoutMs,
      ...rulesOf(session),
      // The rows of volumes are lost with that of the session.
      volumes: null,
      setup,
      setupState: null,
      sealedEnv,
      sealedRelays,
    },
  };
}

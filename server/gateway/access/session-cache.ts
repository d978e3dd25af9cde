import type { SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Sessions, SessionView } from "../../sessions/sessions.ts";

// Whether a sandbox may be used right now, and by whom: its session and the session's partner. Every request asks, so the
// answer is kept for a moment; changes that this server makes or hears of count at once, those of other servers and of
// the command line within FRESH_MS.
export interface Standings extends AsyncDisposable {
  // null: there is no such sandbox, or none that a partner could know.
  of(sandboxId: SandboxId): Promise<Standing | null>;
  // Calls back with what is so now, and after every change until disposed.
  follow(sandboxId: SandboxId, listener: (standing: Standing | null) => void): Disposable;
}

export interface Standing {
  session: SessionView;
  partner: GatewayPartner;
}

export interface GatewayPartner {
  id: string;
  name: string;
  state: "active" | "suspended";
  // Origins that may embed the workspace in a frame.
  origins: readonly string[];
}

export interface StandingsDeps {
  sessions: Pick<Sessions, "bySandbox" | "onChange">;
  // Fails when there is no such partner.
  findPartner: (id: string) => Promise<GatewayPartner>;
  clock: Clock;
  log: Log;
}

type Listener = (standing: Standing | null) => void;
interface Followed {
  listeners: Set<Listener>;
  // What the listeners were last told.
  last: string;
}

const FRESH_MS = 3 * SECOND;
const REMEMBERED = 10_000;

export function createStandings({ sessions, findPartner, clock, log }: StandingsDeps): Standings {
  const known = new Map<SandboxId, { readAt: number; reading: Promise<Standing | null> }>();
  const followed = new Map<SandboxId, Followed>();

  function of(sandboxId: SandboxId): Promise<Standing | null> {
    const entry = known.get(sandboxId);
    if (entry && clock.now() - entry.readAt < FRESH_MS) return entry.reading;
    return readAnew(sandboxId);
  }

  function readAnew(sandboxId: SandboxId): Promise<Standing | null> {
    if (known.size >= REMEMBERED) known.clear();
    const entry = { readAt: clock.now(), reading: read(sandboxId) };
    known.set(sandboxId, entry);
    // A failure is not remembered.
    entry.reading.catch(() => known.get(sandboxId) === entry && known.delete(sandboxId));
    return entry.reading;
  }

  async function read(sandboxId: SandboxId): Promise<Standing | null> {
    const session = await sessions.bySandbox(sandboxId);
    return session && { session, partner: await findPartner(session.partnerId) };
  }

  async function refresh(sandboxId: SandboxId): Promise<void> {
    try {
      const standing = await readAnew(sandboxId);
      const entry = followed.get(sandboxId);
      const now = summaryOf(standing);
      if (!entry || entry.last === now) return;
      entry.last = now;
      for (const listener of entry.listeners) listener(standing);
    } catch (error) {
      // The next round tries again; until then what is known stays.
      log.warn("gateway.standing_not_read", { sandboxId, message: String(error) });
    }
  }

  function follow(sandboxId: SandboxId, listener: Listener): Disposable {
    const entry: Followed = followed.get(sandboxId) ?? { listeners: new Set(), last: "" };
    followed.set(sandboxId, entry);
    entry.listeners.add(listener);
    void begin(sandboxId, entry, listener);
    return {
      [Symbol.dispose]() {
        entry.listeners.delete(listener);
        if (entry.listeners.size === 0 && followed.get(sandboxId) === entry) followed.delete(sandboxId);
      },
    };
  }

  async function begin(sandboxId: SandboxId, entry: Followed, listener: Listener): Promise<void> {
    try {
      const standing = await of(sandboxId);
      entry.last ||= summaryOf(standing);
      if (entry.listeners.has(listener)) listener(standing);
    } catch (error) {
      log.warn("gateway.standing_not_read", { sandboxId, message: String(error) });
    }
  }

  const changes = sessions.onChange((session) => {
    known.delete(session.sandboxId);
    if (followed.has(session.sandboxId)) void refresh(session.sandboxId);
  });
  const rounds = clock.every(FRESH_MS, async () => {
    for (const sandboxId of followed.keys()) await refresh(sandboxId);
  });

  return {
    of,
    follow,
    async [Symbol.asyncDispose]() {
      changes[Symbol.dispose]();
      followed.clear();
      await rounds[Symbol.asyncDispose]();
    },
  };
}

const summaryOf = (standing: Standing | null) =>
  standing ? `${standing.session.status} ${standing.session.generation} ${standing.partner.state} ${standing.partner.name}` : "none";

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { RunStarted, Session, SessionList, SessionStatus, Volume } from "@berth/contract";
import type { Process } from "@berth/contract/daemon/processes.ts";
import type { Api } from "../support/servers/api.ts";
import type { ImageWorld } from "./images.ts";
import { createSnapshotLedger } from "./snapshot-ledger.ts";

// Every response that the partner got, which a crash must not contradict. A call without a response may have taken effect or
// not, so it adds an allowed state; the next response removes it.
export interface Ledger {
  // Makes one random call. Throws if the server is down.
  act(api: Api): Promise<void>;
  // Creates a volume, mounts it in a session, and deletes both. Random calls do this too seldom to wait for it.
  useVolume(api: Api): Promise<void>;
  // The same for a session with a repository that cannot be fetched.
  useSource(api: Api): Promise<void>;
  // Starts a process in a new session.
  useProcess(api: Api): Promise<void>;
  // Starts a run in a new session.
  useRun(api: Api): Promise<void>;
  // Changes the egress of a session.
  useLimits(api: Api): Promise<void>;
  // Creates a session whose repository names an image, and waits until its setup is over.
  useImage(api: Api): Promise<void>;
  // Retries every create without a response, like a partner, and reports those that made a second session.
  retry(api: Api): Promise<string[]>;
  entries(): Entry[];
}

export interface Entry {
  sessionId: string;
  sandboxId: string;
  // States that the session may be in now.
  allowed: Set<SessionStatus>;
  files: Map<string, FileRecord>;
  // The image of its repository. The session must have it after its setup.
  image?: string;
  // The policies that its egress may have now.
  egress: Set<"public" | "none">;
  // The events that must exist: one for each response.
  events: string[];
  // The processes that were started. The end of each must be exactly one event.
  processes: string[];
  // The runs that were started, with a key for each that got no response. Each must end, and its end must be exactly one event.
  runs: string[];
  unansweredRuns: string[];
  // Whether a call is running. A session has one call at a time, so that none conflicts.
  busy: boolean;
}

export interface FileRecord {
  // The acknowledged content, and the contents of writes without a response.
  written: Buffer | null;
  perhaps: Buffer[];
}

const CLAIM_MS = 30_000;

// An eighth of the sessions has a repository that cannot be fetched. The relay refuses its private address.
const SOURCE = { source: { git: { url: "http://127.0.0.1:9/shop.git", token: "secret" } } };
const sourceFor = (name: string) => (/^[01]/.test(name) ? SOURCE : {});

export interface LedgerOptions {
  images?: ImageWorld;
  // How many sessions may be alive before random calls create no more.
  maxSessions?: number;
}

export function createLedger(random: () => number, { images, maxSessions = 6 }: LedgerOptions = {}): Ledger {
  const entries: Entry[] = [];
  const pick = <T>(items: T[]): T | undefined => items[Math.floor(random() * items.length)];
  const live = (status: SessionStatus) => entries.filter((entry) => !entry.busy && entry.allowed.size === 1 && entry.allowed.has(status));

  const hasRoom = () => live("running").length + live("paused").length < maxSessions;
  const snapshots = createSnapshotLedger(random);
  // The sessions whose files creates copy, by the names of the creates.
  const sources = new Map<string, Entry>();
  // The creates without a response, with the fields that they add.
  const unanswered = new Map<string, object>();
  // Two creates with one key make one session.
  const send = (api: Api, name: string, extra: object) =>
    api.call(
      "POST",
      "/api/b2b/sessions",
      { externalUserId: name, autoStartAgent: false, autoResume: true, ...sourceFor(name), ...extra },
      { "idempotency-key": name },
    );

  async function create(api: Api, extra: object = {}, source?: Entry): Promise<Entry> {
    const name = randomUUID();
    if (source) sources.set(name, source);
    unanswered.set(name, extra);
    const answer = await send(api, name, extra);
    if (answer.status !== 201) throw new Error(`create answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    unanswered.delete(name);
    return enter(answer.body, source?.files);
  }

  async function useVolume(api: Api): Promise<void> {
    const name = randomUUID();
    const volume = await api.call("POST", "/api/b2b/volumes", { name, sizeMb: 32 });
    if (volume.status !== 201) throw new Error(`the creation of a volume answered ${volume.status}`);
    const entry = await create(api, { volumes: [{ name, path: "/home/user/cache", mode: "rw" }] });
    await alone(entry, () => move(api, entry, "DELETE", "", "destroyed", "session.destroyed"));
    const { status } = await api.call("DELETE", `/api/b2b/volumes/${(volume.body as Volume).volumeId}`);
    if (status !== 200) throw new Error(`the deletion of a volume answered ${status}`);
  }

  async function useSource(api: Api): Promise<void> {
    const entry = await create(api, SOURCE);
    await awaitSetup(api, entry);
    await alone(entry, () => move(api, entry, "DELETE", "", "destroyed", "session.destroyed"));
  }

  async function useProcess(api: Api): Promise<void> {
    const entry = await create(api);
    await alone(entry, () => run(api, entry));
  }

  async function useRun(api: Api): Promise<void> {
    const entry = await create(api);
    await alone(entry, () => startRun(api, entry));
  }

  // The sandboxes of this suite have no agent, so it fails, after the daemon has accepted it.
  async function startRun(api: Api, entry: Entry, key: string = randomUUID()): Promise<void> {
    if (!entry.unansweredRuns.includes(key)) entry.unansweredRuns.push(key);
    const path = `/api/b2b/sessions/${entry.sessionId}/runs`;
    const answer = await api.call("POST", path, { prompt: key, permissions: "allow" }, { "idempotency-key": key });
    if (answer.status !== 201) throw new Error(`the start of a run answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    entry.unansweredRuns = entry.unansweredRuns.filter((one) => one !== key);
    entry.runs.push((answer.body as RunStarted).runId);
  }

  async function useLimits(api: Api): Promise<void> {
    const entry = pick(live("running")) ?? (await create(api));
    await alone(entry, () => changeEgress(api, entry));
  }

  async function changeEgress(api: Api, entry: Entry): Promise<void> {
    const policy = random() < 0.5 ? "none" : "public";
    entry.egress.add(policy);
    const answer = await api.call("PATCH", `/api/b2b/sessions/${entry.sessionId}`, { egress: { policy } });
    if (answer.status !== 200) throw new Error(`a change of egress answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    entry.egress = new Set([policy]);
  }

  async function useImage(api: Api): Promise<void> {
    if (!images) throw new Error("the sandboxes of this run have no images");
    const entry = await create(api, images.create);
    entry.image = images.image;
    entry.files.set(images.file.name, { written: images.file.content, perhaps: [] });
    await alone(entry, () => awaitSetup(api, entry));
  }

  async function awaitSetup(api: Api, { sessionId }: Entry): Promise<void> {
    const isPending = async () =>
      JSON.stringify((await api.call("GET", `/api/b2b/sessions/${sessionId}?expand=details`)).body).includes('"pending"');
    while (await isPending()) await delay(50);
  }

  // The key may be held by a dead server until its lease expires.
  async function sendUntilFree(api: Api, name: string, extra: object) {
    const endMs = performance.now() + CLAIM_MS;
    for (;;) {
      const answer = await send(api, name, extra);
      if (answer.status !== 409 || performance.now() > endMs) return answer;
      await delay(200);
    }
  }

  async function retry(api: Api): Promise<string[]> {
    const faults: string[] = [];
    for (const [name, extra] of unanswered) {
      const answer = await sendUntilFree(api, name, extra);
      unanswered.delete(name);
      const { data } = (await api.call("GET", `/api/b2b/sessions?externalUserId=${name}`)).body as SessionList;
      if (answer.status !== 201 || data.length !== 1)
        faults.push(`the retried create ${name} answered ${answer.status}, and there are ${data.length} sessions of it`);
      else enter(answer.body, sources.get(name)?.files);
    }
    for (const entry of entries.filter(({ allowed }) => allowed.has("running")))
      for (const key of entry.unansweredRuns) await startRun(api, entry, key);
    return [...faults, ...(await snapshots.check(api))];
  }

  // A fork begins with the files of its source.
  function enter(session: Session, files: Entry["files"] = new Map()): Entry {
    const entry: Entry = {
      sessionId: session.sessionId,
      sandboxId: session.sandboxId,
      allowed: new Set(["running"]),
      egress: new Set(["public"]),
      files: new Map([...files].map(([name, record]) => [name, { ...record, perhaps: [...record.perhaps] }])),
      events: ["session.created"],
      processes: [],
      runs: [],
      unansweredRuns: [],
      busy: false,
    };
    entries.push(entry);
    return entry;
  }

  const move = (api: Api, entry: Entry, method: string, path: string, to: SessionStatus, event: string) =>
    moveBy(api, entry, method, `/api/b2b/sessions/${entry.sessionId}${path}`, to, event);

  // A call to the sandbox resumes the session first.
  const wake = (api: Api, entry: Entry) => moveBy(api, entry, "GET", `/sandboxes/${entry.sandboxId}`, "running", "session.resumed");

  async function moveBy(api: Api, entry: Entry, method: string, path: string, to: SessionStatus, event: string): Promise<void> {
    entry.allowed.add(to);
    const answer = await api.call(method, path);
    if (answer.status === 503) return;
    if (answer.status !== 200) throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    entry.allowed = new Set([to]);
    entry.events.push(event);
  }

  async function write(api: Api, entry: Entry): Promise<void> {
    const name = `file-${Math.floor(random() * 4)}.bin`;
    const record = entry.files.get(name) ?? { written: null, perhaps: [] };
    entry.files.set(name, record);
    const content = randomBytes(1 + Math.floor(random() * 50_000));
    record.perhaps.push(content);
    await api.writeFile(entry.sandboxId, name, content);
    record.written = content;
    record.perhaps = [];
  }

  async function run(api: Api, entry: Entry): Promise<void> {
    const answer = await api.call("POST", `/sandboxes/${entry.sandboxId}/processes`, { command: "true" });
    if (answer.status === 201) entry.processes.push((answer.body as Process).id);
  }

  async function alone(entry: Entry, call: () => Promise<void>): Promise<void> {
    entry.busy = true;
    await call().finally(() => (entry.busy = false));
  }

  async function snapshot(api: Api, entry: Entry): Promise<void> {
    const isFork = random() < 0.3 && hasRoom();
    const source = { sessionId: entry.sessionId };
    return alone(entry, async () => (isFork ? void (await create(api, { source }, entry)) : snapshots.act(api, entry)));
  }

  return {
    retry,
    useVolume,
    useSource,
    useProcess,
    useRun,
    useLimits,
    useImage,
    entries: () => entries,
    async act(api) {
      const dice = random();
      const running = pick(live("running"));
      const paused = pick(live("paused"));
      if (dice < 0.2 || (!running && !paused)) return hasRoom() ? void (await create(api)) : undefined;
      if (dice < 0.35) return snapshot(api, running ?? paused!);
      if (dice < 0.5 && running) return alone(running, () => write(api, running));
      if (dice < 0.53 && running) return alone(running, () => run(api, running));
      if (dice < 0.56 && running) return alone(running, () => startRun(api, running));
      if (dice < 0.6 && running) return alone(running, () => changeEgress(api, running));
      if (dice < 0.7 && running) return alone(running, () => move(api, running, "POST", "/pause", "paused", "session.paused"));
      if (dice < 0.8 && paused) return alone(paused, () => wake(api, paused));
      if (dice < 0.9 && paused) return alone(paused, () => move(api, paused, "POST", "/resume", "running", "session.resumed"));
      if (dice >= 0.9 && dice < 0.93) return useVolume(api);
      const doomed = running ?? paused;
      if (doomed && dice > 0.93) return alone(doomed, () => move(api, doomed, "DELETE", "", "destroyed", "session.destroyed"));
    },
  };
}

import { createEvents, type Events } from "./events.ts";
import { createKeys, type Keys } from "./keys.ts";
import { createTransport, type TransportOptions } from "./http/transport.ts";
import { createSessions, type Sessions } from "./sessions.ts";
import { createSnapshots, type Snapshots } from "./snapshots.ts";
import { createUsageReader, type UsageReader } from "./usage.ts";
import { createVolumes, type Volumes } from "./volumes.ts";
import { createWebhooks, type Webhooks } from "./webhooks/webhooks.ts";

export interface Berth extends UsageReader {
  sessions: Sessions;
  snapshots: Snapshots;
  events: Events;
  webhooks: Webhooks;
  keys: Keys;
  volumes: Volumes;
}

export type BerthOptions = TransportOptions;

// Example: `createBerth({ baseUrl: "https://berth.example.com", apiKey: process.env.BERTH_API_KEY })`.
export function createBerth(options: BerthOptions): Berth {
  const send = createTransport(options);
  return {
    sessions: createSessions(send),
    snapshots: createSnapshots(send),
    events: createEvents(send),
    webhooks: createWebhooks(send),
    keys: createKeys(send),
    volumes: createVolumes(send),
    ...createUsageReader(send),
  };
}

export { verifyWebhook, type VerifyOptions } from "./webhooks/verify-webhook.ts";
export * from "./http/errors.ts";
export type * from "./types/api-types.ts";
export type * from "./types/sandbox-types.ts";
export type { Agent } from "./sandbox/agent.ts";
export type { Collected } from "./sandbox/exec.ts";
export type { Events } from "./events.ts";
export type { Keys } from "./keys.ts";
export type { Files } from "./sandbox/files.ts";
export type { Process, Processes } from "./sandbox/processes.ts";
export type { Run, Runs } from "./runs.ts";
export type { Paged } from "./http/paging.ts";
export type { CallOptions, ForkResult, ForkSessions, PendingSession, Session, Sessions } from "./sessions.ts";
export type { Volumes } from "./volumes.ts";
export type { Snapshots } from "./snapshots.ts";
export type { Webhooks } from "./webhooks/webhooks.ts";

import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "@berth/contract";
import { MAX_SETTINGS_BYTES, type UserSettings } from "@berth/contract/workspace/workspace.ts";
import { readBody } from "../bounded-io/read-body.ts";
import { MINUTE, type Clock } from "../clock.ts";
import { createTokenBuckets, takeToken } from "../fairness/token-bucket.ts";
import type { CachedSession } from "./access/session-cache.ts";
import { sendJson } from "./requests/reply.ts";

interface SettingsOwner {
  partnerId: string;
  externalUserId: string;
}

// Where the settings are stored. `settings` is the text of a JSON object.
export interface SettingsStore {
  read(owner: SettingsOwner): Promise<{ settings: string; version: number }>;
  // False: the stored version is another one.
  write(owner: SettingsOwner, stored: { settings: string; version: number }): Promise<boolean>;
}

export interface UserSettingsRoute {
  handle(cached: CachedSession, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

// Of one user.
const WRITES = { capacity: 60, fillMs: MINUTE };

// GET and PUT /workspace/{sandboxId}/settings: the settings of the user whom the session belongs to.
export function createUserSettings({ store, clock }: { store: SettingsStore; clock: Pick<Clock, "now"> }): UserSettingsRoute {
  // Every write costs a commit.
  const bucketOf = createTokenBuckets<string>(() => clock.now());

  function countWrite({ partnerId, externalUserId }: SettingsOwner): void {
    if (!takeToken(bucketOf(JSON.stringify([partnerId, externalUserId]), WRITES))) throw new AppError("rate_limited");
  }

  return {
    async handle({ session, partner }, request, response) {
      const owner = { partnerId: partner.id, externalUserId: session.externalUserId };
      if (request.method === "GET") {
        const { settings, version } = await store.read(owner);
        return sendJson(response, 200, { settings: JSON.parse(settings) as UserSettings["settings"], version } satisfies UserSettings);
      }
      const { settings, version } = await readSettings(request);
      countWrite(owner);
      if (!(await store.write(owner, { settings: JSON.stringify(settings), version }))) throw new AppError("precondition_failed");
      sendJson(response, 200, { version: version + 1 });
    },
  };
}

async function readSettings(request: IncomingMessage): Promise<UserSettings> {
  const tooLarge = () => new AppError("body_too_large", { message: `Settings must have at most ${MAX_SETTINGS_BYTES} bytes` });
  const text = String(await readBody(request, MAX_SETTINGS_BYTES, tooLarge));
  const { settings, version } = parseObject(text) ?? {};
  const goodSettings = isObject(settings);
  const goodVersion = typeof version === "number" && Number.isSafeInteger(version) && version >= 0;
  if (goodSettings && goodVersion) return { settings, version };
  const details = [
    ...(goodSettings ? [] : [{ field: "settings", message: "Must be a JSON object" }]),
    ...(goodVersion ? [] : [{ field: "version", message: "Must be a whole number from 0" }]),
  ];
  throw new AppError("validation_failed", { details });
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

// A name for a user that differs between partners and does not contain the id.
export const settingsOwnerOf = ({ partnerId, externalUserId }: SettingsOwner): string =>
  createHash("sha256")
    .update(JSON.stringify([partnerId, externalUserId]))
    .digest("base64url")
    .slice(0, 22);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

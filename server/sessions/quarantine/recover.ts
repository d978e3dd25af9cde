import { newId, type SandboxId, type SessionId } from "@berth/contract";
import { HOUR, type Clock } from "../../clock.ts";
import { newToken, type Secrets } from "../../secrets/secrets.ts";
import { takeQuarantined } from "../../store/quarantine.ts";
import type { Db } from "../../store/schema.ts";
import { findSession } from "../../store/sessions/read.ts";
import type { PartnerSession } from "../../store/sessions/session.ts";
import type { NewOwner } from "../../store/sessions/columns.ts";
import { insertRecovered } from "../../store/sessions/write.ts";
import { templateHash, type Templates } from "../../templates.ts";
import type { SessionRecord } from "./session-records.ts";

export interface RecoverDeps {
  secrets: Secrets;
  templates: Templates;
  clock: Clock;
}

// If absent, the sandbox's record decides.
export interface RecoverOptions {
  partnerId?: string | undefined;
  externalUserId?: string | undefined;
  template?: string | undefined;
}

export interface Recovered {
  session: PartnerSession;
  // Whether the environment variables and relays of the lost session are there again.
  hasSecrets: boolean;
}

// Takes a sandbox out of quarantine and gives it a paused session, with its old id if that is known. The caller checks that the partner
// exists. The sandbox gets a new token, because it starts again when the session is resumed.
export async function recoverSession(db: Db, deps: RecoverDeps, sandboxId: SandboxId, options: RecoverOptions): Promise<Recovered> {
  const taken = await takeQuarantined(db, "sandbox", sandboxId);
  if (!taken) throw new Error(`${sandboxId} is not in quarantine. \`berth session recover\` lists the sandboxes that are.`);
  const record = taken.session === null ? null : (JSON.parse(taken.session) as SessionRecord);
  const owner = ownerOf(record, options, sandboxId);
  const name = options.template ?? record?.template ?? "default";
  const template = deps.templates.get(name);
  if (!template) throw new Error(`There is no template ${name}. Name another one with --template, or set BERTH_TEMPLATES.`);
  const nowMs = deps.clock.now();
  const sealed = record && isSameUser(record.owner, owner) ? usableSecrets(deps.secrets, record.owner, sandboxId) : null;
  const session = await insertRecovered(db, {
    id: record && !(await findSession(db, record.sessionId)) ? (record.sessionId as SessionId) : newId("ses", nowMs),
    sandboxId,
    template: template.name,
    templateHash: templateHash(template),
    site: taken.site,
    sealedToken: deps.secrets.seal(newToken(), sandboxId),
    owner: { ...owner, sealedEnv: null, sealedRelays: null, ...sealed },
    createdAtMs: record?.createdAtMs ?? nowMs,
    nowMs,
  });
  return { session: session as PartnerSession, hasSecrets: sealed !== null };
}

function ownerOf(record: SessionRecord | null, { partnerId, externalUserId }: RecoverOptions, sandboxId: SandboxId): NewOwner {
  const chosen = { partnerId: partnerId ?? record?.owner.partnerId, externalUserId: externalUserId ?? record?.owner.externalUserId };
  if (chosen.partnerId === undefined || chosen.externalUserId === undefined)
    throw new Error(`The owner of ${sandboxId} is not known. Name its partner and user with --partner and --user.`);
  return { ...DEFAULTS, ...record?.owner, ...(chosen as Pick<NewOwner, "partnerId" | "externalUserId">) };
}

const isSameUser = (one: NewOwner, other: NewOwner) => one.partnerId === other.partnerId && one.externalUserId === other.externalUserId;

// null: there are none, or they were sealed with another master key.
function usableSecrets(secrets: Secrets, { sealedEnv, sealedRelays }: NewOwner, sandboxId: SandboxId) {
  if (sealedEnv === null && sealedRelays === null) return null;
  try {
    for (const sealed of [sealedEnv, sealedRelays]) if (sealed !== null) secrets.open(sealed, sandboxId);
    return { sealedEnv, sealedRelays };
  } catch {
    return null;
  }
}

const DEFAULTS: Omit<NewOwner, "partnerId" | "externalUserId"> = {
  metadata: {},
  autoStartAgent: false,
  timeoutMs: HOUR,
  idleTimeoutMs: null,
  autoResume: false,
  onTimeout: "pause",
  maxTimeoutMs: null,
  resources: null,
  egress: null,
  volumes: null,
  setup: null,
  setupState: null,
  sealedEnv: null,
  sealedRelays: null,
};

import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { AppError, type FieldFault } from "@berth/contract";
import {
  accent,
  fullName,
  idleTimeout,
  limit,
  logo,
  maxTimeout,
  origins,
  partnerState,
  timeoutAction,
  yesOrNo,
  type Kind,
} from "../../../keys/partner-fields.ts";
import type { Partner, PartnerChanges } from "../../../keys/partners.ts";
import { requireNoFaults } from "../../requests/field-faults.ts";
import { parseOptionalBody } from "../../requests/request-body.ts";

// The forms for a partner's settings. Every value is text, as a person types it, and an empty one means none. They are checked by
// the code that checks the arguments of `berth partner update`.

// The settings that only an operator changes.
export function parseLimits(request: FastifyRequest): PartnerChanges {
  const read = readFields(request);
  const name = read("name", fullName);
  const state = read("state", partnerState);
  const autoResume = read("autoResume", yesOrNo);
  const changes = {
    ...(name != null && { name }),
    ...(state != null && { state }),
    maxSessions: read("maxSessions", limit),
    maxSessionsPerUser: read("maxSessionsPerUser", limit),
    ratePerMinute: read("ratePerMinute", limit),
    idleTimeoutMs: read("idleTimeout", idleTimeout),
    maxTimeoutMs: read("maxTimeout", maxTimeout),
    autoResume: autoResume == null ? autoResume : autoResume === "yes",
    onTimeout: read("onTimeout", timeoutAction),
  };
  read.finish();
  return changes;
}

// The settings that a partner changes itself: where its workspaces may be embedded, and how they look.
export function parseAppearance(request: FastifyRequest): (before: Partner) => PartnerChanges {
  const read = readFields(request);
  const given = {
    origins: read("origins", origins),
    accent: read("accent", accent),
    logo: read("logo", logo),
    hideAgent: read("hideAgent", yesOrNo),
    offerSsh: read("offerSsh", yesOrNo),
  };
  read.finish();
  return ({ branding }) => ({
    ...(given.origins !== undefined && { origins: given.origins ?? [] }),
    branding: {
      logo: given.logo === undefined ? branding.logo : given.logo,
      accent: given.accent === undefined ? branding.accent : given.accent,
      hideAgent: given.hideAgent == null ? branding.hideAgent : given.hideAgent === "yes",
      offerSsh: given.offerSsh == null ? branding.offerSsh : given.offerSsh === "yes",
    },
  });
}

// Whether the operator's support may look at workspaces, which only the partner decides.
export function parseSupport(request: FastifyRequest): PartnerChanges {
  const read = readFields(request);
  const supportAccess = read("supportAccess", yesOrNo);
  read.finish();
  return supportAccess == null ? {} : { supportAccess: supportAccess === "yes" };
}

// Identifies the settings that a person saw, so that a change does not undo another one that was made in the meantime.
export function versionOf(partner: Partner): string {
  return createHash("sha256").update(JSON.stringify(partner)).digest("base64url").slice(0, 16);
}

export function requireVersion(request: FastifyRequest, partner: Partner): void {
  const { version } = parseOptionalBody(request) ?? {};
  if (version !== versionOf(partner))
    throw new AppError("precondition_failed", {
      message: "Someone else has changed this partner meanwhile. Close the form and open it again.",
    });
}

type ReadField = (<T>(name: string, kind: Kind<T>) => T | null | undefined) & { finish(): void };

// undefined: the form does not have the field. null: it is empty.
function readFields(request: FastifyRequest): ReadField {
  const body = parseOptionalBody(request) ?? {};
  const faults: FieldFault[] = [];
  const read = <T>(field: string, kind: Kind<T>): T | null | undefined => {
    const text = body[field];
    if (text === undefined) return undefined;
    if (text === "") return null;
    const value = typeof text === "string" ? kind.parse(text.trim()) : undefined;
    if (value === undefined) faults.push({ field, message: `Allowed: ${kind.allowed}` });
    return value;
  };
  return Object.assign(read, { finish: () => requireNoFaults(faults) });
}

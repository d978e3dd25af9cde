import { CreateSession, DEFAULT_TEMPLATE, ENV_LIMITS, ResumeSession, TIMEOUT_MS, UpdateSession } from "@berth/contract";
import type { CreateRequest, SessionChange } from "../../sessions/sessions.ts";
import type { Templates } from "../../templates.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import type { JsonObject } from "../requests/request-body.ts";
import { findSetupFaults } from "./setup-faults.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";
import { findRuleFaults, parseChangedRules, parseCreateRules } from "./rule-requests.ts";

// Validates the bodies of the session routes and fills in defaults.

const findCreateFaults = compileFaultFinder(CreateSession);
const findResumeFaults = compileFaultFinder(ResumeSession);
const findUpdateFaults = compileFaultFinder(UpdateSession);

export function parseCreate(body: JsonObject, templates: Pick<Templates, "get">): CreateRequest {
  const faults = findCreateFaults(body);
  const request = body as CreateSession;
  const isFaulty = (field: string) => faults.some((fault) => fault.field === field || fault.field.startsWith(`${field}.`));
  const template = isFaulty("template") ? undefined : templates.get(request.template ?? DEFAULT_TEMPLATE);
  if (!isFaulty("template") && request.template !== undefined && !template) {
    faults.push({ field: "template", message: "Not a configured template" });
  }
  if (!isFaulty("resources") && !isFaulty("egress")) faults.push(...findRuleFaults(template, request));
  if (!isFaulty("envVars") && request.envVars && sizeOf(request.envVars) > ENV_LIMITS.totalBytes) {
    faults.push({ field: "envVars", message: "Must have at most 256 KiB in total" });
  }
  if (!isFaulty("source") && !isFaulty("relays")) faults.push(...findSetupFaults(request));
  requireNoFaults(faults);
  return {
    externalUserId: request.externalUserId,
    envVars: request.envVars ?? {},
    template: request.template ?? DEFAULT_TEMPLATE,
    timeoutMs: request.timeoutMs ?? TIMEOUT_MS.default,
    ...(request.idleTimeoutMs !== undefined && { idleTimeoutMs: request.idleTimeoutMs }),
    autoStartAgent: request.autoStartAgent ?? true,
    metadata: request.metadata ?? {},
    ...parseCreateRules(request),
    ...(request.source && { source: request.source }),
    ...(request.setup !== undefined && { setup: request.setup }),
    ...(request.relays && { relays: request.relays }),
  };
}

export function parseResume(body: JsonObject | undefined): { autoStartAgent: boolean } {
  if (!body) return { autoStartAgent: true };
  requireNoFaults(findResumeFaults(body));
  return { autoStartAgent: (body as ResumeSession).autoStartAgent ?? true };
}

export function parseUpdate(body: JsonObject): SessionChange {
  requireNoFaults(findUpdateFaults(body));
  const { timeoutMs, idleTimeoutMs, metadata, source, relays } = body as UpdateSession;
  return {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
    ...(metadata && { metadata }),
    ...parseChangedRules(body as UpdateSession),
    ...(source && { gitToken: source.git.token }),
    ...(relays && { relayValues: relays }),
  };
}

const sizeOf = (envVars: Record<string, string>): number =>
  Object.entries(envVars).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);

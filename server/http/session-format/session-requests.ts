import {
  CreateSession,
  DEFAULT_TEMPLATE,
  ENV_LIMITS,
  IssueLaunchUrl,
  ResumeSession,
  TIMEOUT_MS,
  UpdateSession,
  type FieldFault,
  type StartRun,
} from "@berth/contract";
import type { CreateRequest, SessionChange } from "../../sessions/sessions.ts";
import type { FilesFrom } from "../../sessions/snapshots/snapshots.ts";
import type { Templates } from "../../templates.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import type { JsonObject } from "../requests/request-body.ts";
import { findSetupFaults } from "./setup-faults.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";
import { findRuleFaults, parseChangedRules, parseCreateRules } from "./rule-requests.ts";

// Validates the bodies of the session routes and fills in defaults.

const findCreateFaults = compileFaultFinder(CreateSession);
const findResumeFaults = compileFaultFinder(ResumeSession);
const findLaunchFaults = compileFaultFinder(IssueLaunchUrl);
const findUpdateFaults = compileFaultFinder(UpdateSession);

// A create request, and where the files of the session come from if not from a repository.
export interface ParsedCreate {
  request: CreateRequest;
  from: FilesFrom | null;
  // null: one session, and a reply that is that session.
  count: number | null;
  // The run that begins when the session is set up.
  run: StartRun | null;
}

// `sourceTemplate` is the template if the create names none.
export function parseCreate(body: JsonObject, templates: Pick<Templates, "get">, sourceTemplate?: string | null): ParsedCreate {
  const defaultTemplate = sourceTemplate ?? DEFAULT_TEMPLATE;
  const faults = findCreateFaults(body);
  const request = body as CreateSession;
  const isFaulty = (field: string) => faults.some((fault) => fault.field === field || fault.field.startsWith(`${field}.`));
  const template = isFaulty("template") ? undefined : templates.get(request.template ?? defaultTemplate);
  if (!isFaulty("template") && !template) faults.push({ field: "template", message: "Not a configured template" });
  if (!isFaulty("resources") && !isFaulty("egress")) faults.push(...findRuleFaults(template, request));
  if (!isFaulty("envVars") && request.envVars && sizeOf(request.envVars) > ENV_LIMITS.totalBytes) {
    faults.push({ field: "envVars", message: "Must have at most 256 KiB in total" });
  }
  if (!isFaulty("source") && !isFaulty("relays") && !isFaulty("mcpServers")) faults.push(...findSetupFaults(request));
  requireNoFaults(faults);
  return {
    request: toCreateRequest(request, defaultTemplate),
    from: filesFrom(request),
    count: request.count ?? null,
    run: request.run ?? null,
  };
}

function toCreateRequest(request: CreateSession, defaultTemplate: string): CreateRequest {
  return {
    externalUserId: request.externalUserId,
    envVars: request.envVars ?? {},
    template: request.template ?? defaultTemplate,
    timeoutMs: request.timeoutMs ?? TIMEOUT_MS.default,
    ...(request.idleTimeoutMs !== undefined && { idleTimeoutMs: request.idleTimeoutMs }),
    autoStartAgent: request.autoStartAgent ?? true,
    metadata: request.metadata ?? {},
    ...parseCreateRules(request),
    ...(request.source?.git && { source: { git: request.source.git } }),
    ...(request.setup !== undefined && { setup: request.setup }),
    ...(request.relays && { relays: request.relays }),
    ...(request.mcpServers && { mcpServers: request.mcpServers }),
    ...(request.volumes && { volumes: request.volumes }),
  };
}

// Accepts a body that was not checked yet.
export function filesFrom({ source }: { source?: unknown }): FilesFrom | null {
  const { snapshotId, sessionId } = (source ?? {}) as Record<string, unknown>;
  if (typeof snapshotId === "string") return { snapshotId };
  return typeof sessionId === "string" ? { sessionId } : null;
}

export function parseResume(body: JsonObject | undefined): { autoStartAgent: boolean } {
  if (!body) return { autoStartAgent: true };
  requireNoFaults(findResumeFaults(body));
  return { autoStartAgent: (body as ResumeSession).autoStartAgent ?? true };
}

export function parseLaunch(body: JsonObject | undefined): IssueLaunchUrl {
  if (!body) return {};
  requireNoFaults(findLaunchFaults(body));
  const { role, displayName } = body as IssueLaunchUrl;
  return { ...(role !== undefined && { role }), ...(displayName !== undefined && { displayName }) };
}

// `findMore` finds faults of a body that the schema allows.
export function parseUpdate(body: JsonObject, findMore: (update: UpdateSession) => FieldFault[] = () => []): SessionChange {
  const faults = [...findUpdateFaults(body), ...findFixedFields(body)];
  requireNoFaults(faults.length > 0 ? faults : findMore(body as UpdateSession));
  const { timeoutMs, idleTimeoutMs, metadata, source, relays, mcpServers } = body as UpdateSession;
  return {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
    ...(metadata && { metadata }),
    ...parseChangedRules(body as UpdateSession),
    ...(source && { gitToken: source.git.token }),
    ...(relays && { relayValues: relays }),
    ...(mcpServers && { mcpValues: mcpServers }),
  };
}

// Fields that a session has from its creation. A PATCH that ignored them, like unknown fields, would seem to apply them.
const FIXED_FIELDS = Object.keys(CreateSession.properties).filter((field) => !Object.hasOwn(UpdateSession.properties, field));

const findFixedFields = (body: JsonObject): FieldFault[] =>
  FIXED_FIELDS.filter((field) => body[field] !== undefined && body[field] !== null).map((field) => ({
    field,
    message: "Cannot be changed after the create",
  }));

const sizeOf = (envVars: Record<string, string>): number =>
  Object.entries(envVars).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);

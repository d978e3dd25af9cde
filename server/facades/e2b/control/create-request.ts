import { AppError, DEFAULT_TEMPLATE, isSnapshotId, TIMEOUT_MS, type SessionEgress } from "@berth/contract";
import { parseCreate } from "../../../http/session-format/session-requests.ts";
import type { JsonObject } from "../../../http/requests/request-body.ts";
import type { CreateRequest } from "../../../sessions/sessions.ts";
import type { FilesFrom, Snapshots } from "../../../sessions/snapshots/snapshots.ts";
import type { Templates } from "../../../templates.ts";
import { unsupported } from "../errors.ts";
import { isMaskHost, withFacts } from "../sandbox-facts.ts";
import { toEgress, type Network } from "./network.ts";

export interface ParsedSandbox {
  request: CreateRequest;
  // The snapshot with the files of the sandbox.
  from: FilesFrom | null;
}

export interface CreateRequestDeps {
  templates: Pick<Templates, "get">;
  snapshots: Pick<Snapshots, "templateOf">;
}

export const DEFAULT_TIMEOUT_SECONDS = 300;
// The name that E2B's SDK sends if the caller names no template.
const E2B_DEFAULT_TEMPLATE = "base";

// The body of E2B's create, in its first and second version, as a create of a session.
export async function parseSandbox(body: JsonObject, partnerId: string, deps: CreateRequestDeps): Promise<ParsedSandbox> {
  const { templateID = E2B_DEFAULT_TEMPLATE, metadata, envVars, timeout, autoPause, autoResume, volumeMounts } = body;
  for (const field of ["iam", "mcp"] as const) if (isSet(body[field])) refuse(field);
  const named = text(templateID, "templateID");
  const from = isSnapshotId(named) ? { snapshotId: named } : null;
  const template = from ? await deps.snapshots.templateOf(partnerId, from) : named === E2B_DEFAULT_TEMPLATE ? DEFAULT_TEMPLATE : named;
  if (template === null || !deps.templates.get(template)) throw new AppError("not_found", { message: `template '${named}' not found` });
  const { allowPublicTraffic: publicTraffic = true, maskRequestHost: maskHost, ...network } = (body["network"] ?? {}) as Network;
  if (isSet(maskHost) && !isMaskHost(maskHost)) throw new AppError("bad_request", { message: "network.maskRequestHost is not a host" });
  const egress = toEgress({ ...network, allowInternet: body["allow_internet_access"] as boolean | undefined });
  const { request } = parseCreate(
    {
      externalUserId: userOf(metadata),
      template,
      autoStartAgent: false,
      ...(isSet(envVars) && { envVars }),
      ...(isSet(metadata) && { metadata }),
      ...(egress && { egress: egress satisfies SessionEgress }),
      ...(isSet(volumeMounts) && { volumes: (volumeMounts as object[]).map((mount) => ({ ...mount, mode: "rw" })) }),
    },
    deps.templates,
  );
  return {
    from,
    request: {
      ...request,
      metadata: withFacts(request.metadata, { publicTraffic, ...(isMaskHost(maskHost) && { maskHost }) }),
      timeoutMs: parseTimeout(timeout) ?? DEFAULT_TIMEOUT_SECONDS * 1000,
      onTimeout: autoPause === true ? "pause" : "destroy",
      autoResume: (autoResume as { enabled?: unknown } | undefined)?.enabled === true,
    },
  };
}

// Seconds, from 1 to a day. undefined: the body names none.
export function parseTimeout(timeout: unknown): number | undefined {
  if (!isSet(timeout)) return undefined;
  if (!Number.isInteger(timeout) || (timeout as number) < 0 || (timeout as number) * 1000 > TIMEOUT_MS.maximum)
    throw new AppError("bad_request", { message: `Timeout cannot be greater than ${TIMEOUT_MS.maximum / 3_600_000} hours` });
  return (timeout as number) * 1000;
}

// Fields that were left out may be `null` or empty.
const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function refuse(field: string): never {
  throw unsupported(`${field} on create`);
}

function text(value: unknown, field: string): string {
  if (typeof value !== "string" || value === "") throw new AppError("bad_request", { message: `${field} must be a string` });
  return value;
}

// E2B has no users. Berth counts sessions per user, so a sandbox may name its own.
function userOf(metadata: unknown): string {
  const { userId } = (metadata ?? {}) as { userId?: unknown };
  return typeof userId === "string" && userId !== "" ? userId.slice(0, 256) : "e2b";
}

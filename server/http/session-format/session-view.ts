import type { ResumedSession, Session, SessionRead, SourceRead } from "@berth/contract";
import type { SessionView } from "../../sessions/sessions.ts";
import type { SetupSource } from "../../store/sessions/session-setup.ts";
import { toMcpRead } from "../../mcp-servers.ts";
import { ruleDetailsOf } from "./rule-requests.ts";

// How a session is sent to partners: with its five fields, or with all details.
export type SessionFormat = "brief" | "detailed";

export const formatSession = (baseUrl: string, view: SessionView, format: SessionFormat): Session | SessionRead =>
  format === "detailed" ? withDetails(baseUrl, view) : toSession(baseUrl, view);

export const toSession = (baseUrl: string, view: SessionView): Session => ({
  sessionId: view.id,
  sandboxId: view.sandboxId,
  status: view.status,
  sandboxUrl: sandboxUrl(baseUrl, view),
  createdAt: new Date(view.createdAt).toISOString(),
});

export const toResumed = (baseUrl: string, view: SessionView): ResumedSession => ({
  status: view.status,
  sandboxId: view.sandboxId,
  sandboxUrl: sandboxUrl(baseUrl, view),
});

export const withDetails = (baseUrl: string, view: SessionView): SessionRead => ({
  ...toSession(baseUrl, view),
  externalUserId: view.externalUserId,
  template: view.template,
  idleTimeoutMs: view.idleTimeoutMs,
  ...setupDetails(view),
  ...(view.volumes && { volumes: view.volumes.map(({ name, path, mode }) => ({ name, path, mode })) }),
  metadata: JSON.parse(view.metadataJson) as Record<string, string>,
  expiresAt: view.expiresAt === null ? null : new Date(view.expiresAt).toISOString(),
  stopReason: view.stopReason as SessionRead["stopReason"],
  ...ruleDetailsOf(view),
});

// The snapshot of a fork is deleted once the session runs.
function toSourceRead(source: SetupSource): SourceRead {
  if (source.git || source.sessionId === undefined) return source;
  const { snapshotId: _, ...fork } = source;
  return fork;
}

// Present only if the create named them, or if the template has a command.
function setupDetails({ setup }: SessionView): Pick<SessionRead, "source" | "setup" | "image" | "relays" | "mcpServers"> {
  if (!setup) return {};
  const { source, status, exitCode, image, relays, mcpServers } = setup;
  const hasCommand = source !== null || status !== "none";
  return {
    ...(source && { source: toSourceRead(source) }),
    ...(hasCommand && { setup: { status, exitCode } }),
    ...(image?.status === "used" && { image: image.name }),
    ...(relays.length > 0 && { relays }),
    ...(mcpServers && { mcpServers: mcpServers.map(toMcpRead) }),
  };
}

// A page of the list as JSON. Stored metadata is copied without parsing it: parsing and serializing a full page would block
// the event loop many times longer.
export function pageJson(baseUrlOf: BaseUrlOf, views: readonly SessionView[], { nextCursor, format }: PageOptions): string {
  const rows = views.map((view) => {
    const baseUrl = baseUrlOf(view);
    return format === "detailed" ? detailsJson(baseUrl, view) : JSON.stringify(toSession(baseUrl, view));
  });
  return `{"data":[${rows.join(",")}],"nextCursor":${JSON.stringify(nextCursor)}}`;
}

// The base URL of the server that holds the session.
export type BaseUrlOf = (view: SessionView) => string;

export interface PageOptions {
  nextCursor: string | null;
  format: SessionFormat;
}

function detailsJson(baseUrl: string, view: SessionView): string {
  const { metadata: _, ...others } = withDetails(baseUrl, { ...view, metadataJson: "{}" });
  return `${JSON.stringify(others).slice(0, -1)},"metadata":${view.metadataJson}}`;
}

// Formats a view once for each base URL that it gets. The store returns the same view until the session changes.
export function rememberTexts(format: (baseUrl: string, view: SessionView) => string): (baseUrl: string, view: SessionView) => string {
  const texts = new WeakMap<SessionView, { baseUrl: string; text: string }>();
  return (baseUrl, view) => {
    let known = texts.get(view);
    if (known?.baseUrl !== baseUrl) texts.set(view, (known = { baseUrl, text: format(baseUrl, view) }));
    return known.text;
  };
}

// Generation and update time together differ for every version of a session: changes of state increase the generation, all
// other changes the time.
export const etagOf = ({ generation, updatedAt }: SessionView, format: SessionFormat): string =>
  `"${generation}-${updatedAt}${format === "detailed" ? "-d" : ""}"`;

export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === etag) return true;
  return ifNoneMatch.split(",").some((one) => one.trim() === "*" || one.trim().replace(/^W\//, "") === etag);
}

export const sandboxUrl = (baseUrl: string, { sandboxId }: Pick<SessionView, "sandboxId">): string => `${baseUrl}/sandboxes/${sandboxId}`;

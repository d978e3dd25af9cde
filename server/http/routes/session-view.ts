import type { ResumedSession, Session, SessionRead } from "@berth/contract";
import type { SessionView } from "../../sessions/sessions.ts";

// Sessions as partners see them: exactly the five fields, or with details when asked for.

const sandboxUrl = (baseUrl: string, { sandboxId }: SessionView): string => `${baseUrl}/sandboxes/${sandboxId}`;

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
  metadata: JSON.parse(view.metadataJson) as Record<string, string>,
  expiresAt: view.expiresAt === null ? null : new Date(view.expiresAt).toISOString(),
  stopReason: view.stopReason as SessionRead["stopReason"],
});

// A page of the list as JSON. Metadata is copied as it is stored: parsing and writing a full page of it would hold up the
// event loop for many times as long.
export function pageJson(baseUrl: string, views: readonly SessionView[], { nextCursor, expanded }: PageOptions): string {
  const rows = views.map((view) => (expanded ? detailsJson(baseUrl, view) : JSON.stringify(toSession(baseUrl, view))));
  return `{"data":[${rows.join(",")}],"nextCursor":${JSON.stringify(nextCursor)}}`;
}

export interface PageOptions {
  nextCursor: string | null;
  expanded: boolean;
}

function detailsJson(baseUrl: string, view: SessionView): string {
  const { metadata: _, ...others } = withDetails(baseUrl, { ...view, metadataJson: "{}" });
  return `${JSON.stringify(others).slice(0, -1)},"metadata":${view.metadataJson}}`;
}

// The generation tells changes of state, the time all others; no two changes of a session have the same.
export const etagOf = (view: SessionView, expanded: boolean): string =>
  `"${view.generation.toString(36)}-${view.updatedAt.toString(36)}${expanded ? "-d" : ""}"`;

export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === etag) return true;
  return ifNoneMatch.split(",").some((one) => one.trim() === "*" || one.trim().replace(/^W\//, "") === etag);
}

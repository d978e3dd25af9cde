import Type from "typebox";
import { AppError, IssuePreviewUrl } from "@berth/contract";
import type { Clock } from "../../../clock.ts";
import { HOUR } from "../../../clock.ts";
import { auditEntry, partnerIdOf } from "../../../http/routes/route-context.ts";
import type { TokenRouteDeps } from "../../../http/routes/token-routes.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import type { Store } from "../../../store/open.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import { jsonResult } from "../results.ts";
import type { InSession, Tool } from "../tool.ts";
import { sessionId } from "./fields.ts";

export interface PreviewToolDeps {
  sessions: Pick<Sessions, "get">;
  issuePreviewUrl: TokenRouteDeps["issuePreviewUrl"];
  store: Store;
  clock: Clock;
}

const { port, path, ttlMs } = IssuePreviewUrl.properties;
type Wanted = InSession & Pick<IssuePreviewUrl, "port" | "path"> & { ttlMs?: number };

export const createPreviewTool = ({ sessions, issuePreviewUrl, store, clock }: PreviewToolDeps): Tool => ({
  name: "preview_url",
  title: "Get the URL of a web server",
  description:
    "Returns a URL with which a person can open a web server that listens on a port in the sandbox. Everyone who has the URL can use that port until it expires.",
  input: Type.Object({ sessionId, port, path, ttlMs: Type.Optional({ ...ttlMs, default: HOUR }) }),
  scope: "sessions",
  tokenScope: "ports",
  async call({ sessionId: id, port: wantedPort, path: wantedPath = "/", ttlMs: wantedMs = HOUR }: Wanted, { request }) {
    const { token } = request.principal;
    if (token && !token.allows("ports", wantedPort)) throw new AppError("insufficient_scope");
    const session = await sessions.get(partnerIdOf(request), id);
    if (session.status === "destroyed") throw new AppError("session_not_found");
    const { url, expiresAtMs } = await issuePreviewUrl(session, { port: wantedPort, path: wantedPath, ttlMs: wantedMs });
    await appendAudit(store.db, auditEntry(request, "session.preview_url", session.id), clock.now());
    return jsonResult({ url, expiresAt: new Date(expiresAtMs).toISOString() });
  },
});

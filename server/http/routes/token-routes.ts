import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  AppError,
  CreateSessionToken,
  IssuePreviewUrl,
  type FieldFault,
  type PreviewUrl,
  type SessionTokenList,
  type SessionTokenWithSecret,
} from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { IssuedToken, SessionTokens } from "../../keys/session-tokens.ts";
import type { Sessions, SessionView } from "../../sessions/sessions.ts";
import type { Store } from "../../store/open.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import { sandboxUrl } from "../session-format/session-view.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import type { Idempotency, Result } from "../requests/idempotency.ts";
import { parseRequiredBody, type JsonObject } from "../requests/request-body.ts";
import { addRoute } from "../requests/route.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";
import { toToken } from "../session-format/token-view.ts";
import { auditEntry, idOf, partnerIdOf } from "./route-context.ts";

export interface TokenRouteDeps {
  sessions: Pick<Sessions, "get">;
  sessionTokens: SessionTokens;
  // A signed URL for one port of a session. Rejects if there are no previews, or if the session is on another machine.
  issuePreviewUrl(
    session: SessionView,
    preview: { port: number; path: string; ttlMs: number },
  ): Promise<{ url: string; expiresAtMs: number }>;
  // Of a session's sandbox; null if it does not run here, or does not answer.
  readSshHostKey(session: SessionView): Promise<string | null>;
  baseUrl: string;
  idempotency: Idempotency;
  store: Store;
  clock: Clock;
}

const findCreateFaults = compileFaultFinder(CreateSessionToken);
const findPreviewFaults = compileFaultFinder(IssuePreviewUrl);

export function addTokenRoutes(app: FastifyInstance, deps: TokenRouteDeps): void {
  const { sessions, sessionTokens, issuePreviewUrl, readSshHostKey, baseUrl, store, clock } = deps;
  const { runOnce } = deps.idempotency;

  async function liveSession(request: FastifyRequest): Promise<SessionView> {
    const session = await sessions.get(partnerIdOf(request), idOf(request));
    if (session.status === "destroyed") throw new AppError("session_not_found");
    return session;
  }

  async function sshOf(session: SessionView): Promise<TokenSsh> {
    const url = `${sandboxUrl(baseUrl, session).replace(/^http/, "ws")}/ssh`;
    return { url, hostKey: session.status === "running" ? await readSshHostKey(session) : null };
  }

  addRoute(app, "createSessionToken", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const wanted = parseCreate(parseRequiredBody(request, CreateSessionToken));
      const session = await liveSession(request);
      const ssh = wanted.scopes.includes("ssh") ? await sshOf(session) : null;
      const issued = await sessionTokens.create(session, wanted, async (tx, made) => {
        await appendAudit(tx, auditEntry(request, "token.create", made.id), clock.now());
        await save?.(tx, toCreated(made, ssh));
      });
      return toCreated(issued, ssh);
    }),
  );

  addRoute(app, "listSessionTokens", async (request): Promise<SessionTokenList> => {
    const session = await liveSession(request);
    return { data: (await sessionTokens.list(session.id)).map(toToken) };
  });

  addRoute(app, "revokeSessionToken", async (request) => {
    const { tokenId } = request.params as { tokenId: string };
    const session = await liveSession(request);
    const revoked = await sessionTokens.revoke(session, tokenId, (tx, { id }) =>
      appendAudit(tx, auditEntry(request, "token.revoke", id), clock.now()),
    );
    return toToken(revoked);
  });

  addRoute(app, "issuePreviewUrl", (request, reply) =>
    runOnce(request, reply, async () => {
      const wanted = parseRequiredBody(request, IssuePreviewUrl);
      requireNoFaults(findPreviewFaults(wanted));
      const { port, ttlMs, path = "/" } = wanted as IssuePreviewUrl;
      const session = await liveSession(request);
      const { url, expiresAtMs } = await issuePreviewUrl(session, { port, path, ttlMs });
      await appendAudit(store.db, auditEntry(request, "session.preview_url", session.id), clock.now());
      const body: PreviewUrl = { url, expiresAt: new Date(expiresAtMs).toISOString() };
      // An expired URL is useless, so a retry after that gets a new one.
      return { status: 200, body, staleAt: expiresAtMs };
    }),
  );
}

function parseCreate(body: JsonObject): CreateSessionToken {
  const faults = findCreateFaults(body);
  const request = body as CreateSessionToken;
  requireNoFaults(faults.length > 0 ? faults : portFaults(request));
  return request;
}

const portFaults = ({ ports, scopes }: CreateSessionToken): FieldFault[] =>
  ports === undefined || scopes.includes("ports") ? [] : [{ field: "ports", message: "Needs the scope ports" }];

type TokenSsh = SessionTokenWithSecret["ssh"] & {};

const toCreated = (issued: IssuedToken, ssh: TokenSsh | null): Result => ({
  status: 201,
  body: { ...toToken(issued), token: issued.token, ssh } satisfies SessionTokenWithSecret,
});

import { readFileSync } from "node:fs";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError, DEFAULT_TEMPLATE, isAppError } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Tickets } from "../../gateway/access/launch-ticket.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import type { Templates } from "../../templates.ts";
import type { Store } from "../../store/open.ts";
import { findPartnerFast, type Partner } from "../../store/partners/partners.ts";
import { requireStore } from "../operations/health.ts";
import { parseCreate } from "../session-format/session-requests.ts";
import { renderStartPage, renderOpenFailure, type Opening } from "./start-page.ts";
import { isLocalCaller, isSameOrigin } from "../requests/local-caller.ts";

export interface StartPageDeps {
  sessions: Sessions;
  tickets: Pick<Tickets, "issueLaunchUrl">;
  templates: Pick<Templates, "get" | "keys">;
  store: Store;
  clock: Clock;
  baseUrl: string;
  // The partner whose sessions the person at this machine may open without a key. null if other machines can reach the server.
  localPartner: string | null;
}

// The page at `/`: what this is, whether it works, and where to go. On a laptop it also opens a workspace.
export function addStartPage(app: FastifyInstance, deps: StartPageDeps): void {
  const { sessions, tickets, templates, store, clock, baseUrl, localPartner } = deps;
  const headers = pageHeaders(baseUrl);
  const config = { public: true } as const;
  const style = readFileSync(new URL("start-page.css", import.meta.url));

  app.get("/", { config }, async (request, reply) => {
    // Programs get the same response as at any other path that is not part of the API.
    if (!wantsPage(request)) throw new AppError("not_found");
    const isReady = await requireStore(store).then(
      () => true,
      () => false,
    );
    const opening = isReady ? await openingFor(request) : null;
    return sendPage(reply, isReady ? 200 : 503, renderStartPage({ isReady, opening }));
  });

  app.get("/start-page.css", { config }, (_request, reply) => {
    void reply.type("text/css; charset=utf-8").headers(headers).send(style);
  });

  app.post("/open", { config }, async (request, reply) => {
    const partner = await findLocalPartner();
    if (!partner || !isLocalCaller(request) || !isSameOrigin(request)) throw new AppError("forbidden");
    const template = new URLSearchParams(request.rawBody?.toString("utf8")).get("template") ?? DEFAULT_TEMPLATE;
    try {
      const { request: wanted } = parseCreate({ externalUserId: "me", template }, templates);
      const session = await sessions.create(partner, wanted, {
        record: (tx, created) => appendAudit(tx, auditEntry(request, partner.id, created.id), clock.now()),
      });
      return await reply.headers(headers).redirect(tickets.issueLaunchUrl(session).url, 303);
    } catch (error) {
      if (!isAppError(error)) throw error;
      return sendPage(reply, error.status, renderOpenFailure(error.message));
    }
  });

  async function openingFor(request: FastifyRequest): Promise<Opening | null> {
    if (!(await findLocalPartner())) return null;
    return isLocalCaller(request) ? { how: "button", templates: [...templates.keys()] } : { how: "command" };
  }

  const sendPage = (reply: FastifyReply, status: number, html: string): FastifyReply =>
    reply.code(status).type("text/html; charset=utf-8").headers(headers).send(html);

  async function findLocalPartner(): Promise<Partner | null> {
    const partner = localPartner === null ? null : await findPartnerFast(store, localPartner);
    return partner?.state === "active" ? partner : null;
  }
}

const wantsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.toLowerCase().includes("text/html") === true;

const auditEntry = (request: FastifyRequest, partnerId: string, target: string) => ({
  partnerId,
  actor: "local",
  action: "session.create",
  target,
  ip: request.ip,
  requestId: request.id,
});

const pageHeaders = (baseUrl: string) => ({
  "cache-control": "no-store",
  // Some browsers check the redirect after a form too. It leads to the base URL, which may be another name of this machine.
  "content-security-policy": `default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self' ${baseUrl}; frame-ancestors 'none'`,
  // With `no-referrer` browsers would send the form with the Origin `null`.
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
});

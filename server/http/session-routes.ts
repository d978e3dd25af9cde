import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError, type LaunchUrl, type ResumedSession, type Session, type StatusOnly } from "@berth/contract";
import type { Tickets } from "../gateway/ticket.ts";
import type { Sessions, SessionView } from "../sessions/sessions.ts";
import { jsonObject } from "./body.ts";
import { addRoute } from "./route.ts";
import { parseCreate, parseResume } from "./validation.ts";

export interface SessionRouteDeps {
  sessions: Sessions;
  tickets: Pick<Tickets, "issueLaunchUrl">;
  templates: { has(name: string): boolean };
  baseUrl: string;
}

export function addSessionRoutes(app: FastifyInstance, { sessions, tickets, templates, baseUrl }: SessionRouteDeps): void {
  const sandboxUrl = (view: SessionView) => `${baseUrl}/sandboxes/${view.sandboxId}`;
  const toSession = (view: SessionView): Session => ({
    sessionId: view.id,
    sandboxId: view.sandboxId,
    status: view.status,
    sandboxUrl: sandboxUrl(view),
    createdAt: new Date(view.createdAt).toISOString(),
  });

  addRoute(app, "createSession", async (request, reply) => {
    const wanted = parseCreate(jsonObject(request), templates);
    const session = await sessions.create(request.principal.partner, wanted);
    return reply.code(201).send(toSession(session));
  });

  addRoute(app, "getSession", async (request) => toSession(await sessions.get(partnerOf(request), idOf(request))));

  addRoute(app, "destroySession", async (request): Promise<StatusOnly> => {
    const { status } = await sessions.destroy(partnerOf(request), idOf(request));
    return { status };
  });

  addRoute(app, "pauseSession", async (request): Promise<StatusOnly> => {
    const { status } = await sessions.pause(partnerOf(request), idOf(request));
    return { status };
  });

  addRoute(app, "resumeSession", async (request): Promise<ResumedSession> => {
    const options = parseResume(jsonObject(request));
    const session = await sessions.resume(partnerOf(request), idOf(request), options);
    return { status: session.status, sandboxId: session.sandboxId, sandboxUrl: sandboxUrl(session) };
  });

  addRoute(app, "issueLaunchUrl", async (request): Promise<LaunchUrl> => {
    const session = await sessions.get(partnerOf(request), idOf(request));
    if (session.status === "destroyed") throw new AppError("session_not_found");
    return tickets.issueLaunchUrl(session);
  });
}

const partnerOf = (request: FastifyRequest): string => request.principal.partner.id;
const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;

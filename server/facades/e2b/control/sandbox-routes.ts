import { AppError, isSandboxId, MAX_FORKS } from "@berth/contract";
import type { Clock } from "../../../clock.ts";
import { parseOptionalBody, parseRequiredBody, type JsonObject } from "../../../http/requests/request-body.ts";
import { requireNoFaults } from "../../../http/requests/field-faults.ts";
import { auditEntry, partnerIdOf } from "../../../http/routes/route-context.ts";
import { findLimitFaults, toEgressPolicy } from "../../../session-limits.ts";
import type { ChangeOptions, CreateRequest, ListFilter, Sessions, SessionView } from "../../../sessions/sessions.ts";
import type { FilesFrom, Snapshots } from "../../../sessions/snapshots/snapshots.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import type { Templates } from "../../../templates.ts";
import { spanOf } from "../../../tracing/span.ts";
import { toE2bError } from "../errors.ts";
import { withFacts, splitMetadata } from "../sandbox-facts.ts";
import { DEFAULT_TIMEOUT_SECONDS, parseSandbox, parseTimeout } from "./create-request.ts";
import { encodeCursor, parseList } from "./list-query.ts";
import { readMetrics, type ReadStats } from "./metrics.ts";
import { toEgress, type Network } from "./network.ts";
import type { AddRoute, Request } from "./route.ts";
import type { SandboxFormat } from "./sandbox-format.ts";

export interface SandboxRouteDeps {
  sessions: Sessions;
  snapshots: Snapshots;
  templates: Pick<Templates, "get">;
  format: SandboxFormat;
  readStats: ReadStats;
  // Ends the programs of a paused session.
  hibernate: (partnerId: string, id: string) => Promise<void>;
  clock: Clock;
}

const ANY_BODY = { required: [] } as never;
const SANDBOX = "/sandboxes/:id";

export function addSandboxRoutes(add: AddRoute, deps: SandboxRouteDeps): void {
  const { sessions, snapshots, templates, format, readStats, hibernate, clock } = deps;

  // Another partner's sandbox, and one that is gone, are not found.
  async function find(request: Request): Promise<SessionView> {
    const { id } = request.params as { id: string };
    const found = isSandboxId(id) ? await sessions.bySandbox(id) : null;
    if (found?.partnerId !== partnerIdOf(request) || found.status === "destroyed")
      throw new AppError("session_not_found", { message: `sandbox ${id} not found` });
    return found;
  }

  const recorded = (request: Request, action: string): ChangeOptions => ({
    span: spanOf(request.raw),
    record: (tx, session) => appendAudit(tx, auditEntry(request, action, session.id), clock.now()),
  });

  async function create(request: Request, wanted: CreateRequest, from: FilesFrom | null): Promise<SessionView> {
    const createOne = (files?: CreateRequest["files"]) =>
      sessions.create(request.principal.partner, { ...wanted, ...(files && { files }) }, recorded(request, "session.create"));
    return from ? snapshots.withFiles(partnerIdOf(request), from, createOne) : createOne();
  }

  const setTimeout = async (request: Request, { id }: SessionView, timeoutMs: number) => {
    await sessions.update(partnerIdOf(request), id, { timeoutMs }, recorded(request, "session.update"));
  };

  // A connect never shortens the time that is left.
  async function extendTo(request: Request, session: SessionView, timeoutMs: number): Promise<void> {
    if (session.expiresAt !== null && clock.now() + timeoutMs > session.expiresAt) await setTimeout(request, session, timeoutMs);
  }

  async function resume(request: Request, session: SessionView, timeoutMs: number): Promise<SessionView> {
    await setTimeout(request, session, timeoutMs);
    return sessions.resume(partnerIdOf(request), session.id, { autoStartAgent: false, ...recorded(request, "session.resume") });
  }

  for (const path of ["/sandboxes", "/v2/sandboxes"])
    add("POST", path, async (request, reply) => {
      const parsed = await parseSandbox(parseRequiredBody(request, ANY_BODY), partnerIdOf(request), { templates, snapshots });
      return reply.code(201).send(format.created(await create(request, parsed.request, parsed.from)));
    });

  for (const path of ["/sandboxes", "/v2/sandboxes"])
    add("GET", path, async (request, reply) => {
      const filter = parseList(request.query as Record<string, string>);
      const page = await sessions.list(partnerIdOf(request), filter);
      const next = page.next && (await hasMore(partnerIdOf(request), { ...filter, after: page.next })) ? page.next : null;
      if (next) reply.header("x-next-token", encodeCursor(next));
      return page.sessions.map(format.listed);
    });

  // A page of Berth may have a next one that is empty. E2B's clients expect something on it.
  async function hasMore(partnerId: string, filter: ListFilter): Promise<boolean> {
    const page = await sessions.list(partnerId, { ...filter, limit: 1 });
    if (page.sessions.length > 0) return true;
    return page.next !== null && hasMore(partnerId, { ...filter, after: page.next });
  }

  add("GET", SANDBOX, async (request) => format.detailed(await find(request)));

  add("DELETE", SANDBOX, async (request, reply) => {
    const { id } = await find(request);
    await sessions.destroy(partnerIdOf(request), id, recorded(request, "session.destroy"));
    return reply.code(204).send();
  });

  add("POST", `${SANDBOX}/timeout`, async (request, reply) => {
    const { timeout } = parseRequiredBody(request, ANY_BODY);
    await setTimeout(request, await find(request), parseTimeout(timeout) ?? DEFAULT_TIMEOUT_SECONDS * 1000);
    return reply.code(204).send();
  });

  add("POST", `${SANDBOX}/refreshes`, async (request, reply) => {
    const { duration } = optional(request);
    await extendTo(request, await find(request), parseTimeout(duration) ?? DEFAULT_TIMEOUT_SECONDS * 1000);
    return reply.code(204).send();
  });

  for (const path of [`${SANDBOX}/connect`, `/v2${SANDBOX}/connect`])
    add("POST", path, async (request, reply) => {
      const session = await find(request);
      const timeoutMs = parseTimeout(optional(request)["timeout"]) ?? DEFAULT_TIMEOUT_SECONDS * 1000;
      if (session.status === "paused") {
        const resumed = await resume(request, session, timeoutMs).catch(ignoreRunning(session));
        return reply.code(201).send(format.created(resumed));
      }
      await extendTo(request, session, timeoutMs);
      return format.created(session);
    });

  add("POST", `${SANDBOX}/resume`, async (request, reply) => {
    const timeoutMs = parseTimeout(optional(request)["timeout"]) ?? DEFAULT_TIMEOUT_SECONDS * 1000;
    return reply.code(201).send(format.created(await resume(request, await find(request), timeoutMs)));
  });

  add("POST", `${SANDBOX}/pause`, async (request, reply) => {
    const { id } = await find(request);
    const keepsMemory = optional(request)["memory"] !== false;
    await sessions.pause(partnerIdOf(request), id, recorded(request, "session.pause"));
    if (!keepsMemory) await hibernate(partnerIdOf(request), id);
    return reply.code(204).send();
  });

  add("GET", `${SANDBOX}/metrics`, async (request) => readMetrics(readStats, await find(request), format, request.query as object, clock));

  // Rules that are left out are gone, so that the policy of the template holds again.
  add("PUT", `${SANDBOX}/network`, async (request, reply) => {
    const { allow_internet_access: allowInternet, ...network } = parseRequiredBody(request, ANY_BODY);
    const session = await find(request);
    const template = templates.get(session.template);
    const wanted = toEgress({ ...network, allowInternet } as Network);
    if (template && wanted) requireNoFaults(findLimitFaults(template, { egress: wanted }));
    const change = { egress: wanted ? toEgressPolicy(wanted) : null, closeConnections: true };
    await sessions.update(partnerIdOf(request), session.id, change, recorded(request, "session.update"));
    return reply.code(204).send();
  });

  add("POST", `${SANDBOX}/fork`, async (request, reply) => {
    const { timeout, count = 1 } = optional(request);
    if (!Number.isInteger(count) || (count as number) < 1 || (count as number) > MAX_FORKS)
      throw new AppError("bad_request", { message: `count must be a number from 1 to ${MAX_FORKS}` });
    const source = await find(request);
    const { metadata, facts } = splitMetadata(source);
    const wanted: CreateRequest = {
      externalUserId: source.externalUserId,
      envVars: {},
      template: source.template,
      timeoutMs: parseTimeout(timeout) ?? DEFAULT_TIMEOUT_SECONDS * 1000,
      autoStartAgent: false,
      metadata: withFacts(metadata, facts ?? { publicTraffic: false }),
      onTimeout: source.onTimeout,
      autoResume: source.autoResume,
      ...(source.egress && { egress: source.egress }),
      ...(source.resources && { resources: source.resources }),
    };
    const results = await snapshots.withFiles(partnerIdOf(request), { sessionId: source.id }, (files) =>
      Promise.all(
        Array.from({ length: count as number }, () =>
          create(request, { ...wanted, files }, null).then(
            (session) => ({ sandbox: format.created(session) }),
            (error: unknown) => ({ error: toE2bError(error) }),
          ),
        ),
      ),
    );
    return reply.code(201).send(results);
  });
}

const optional = (request: Request): JsonObject => parseOptionalBody(request) ?? {};

// Two connects at once: the other one has resumed it.
const ignoreRunning = (session: SessionView) => (error: unknown) => {
  if (error instanceof AppError && error.code === "session_already_running") return session;
  throw error;
};

import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError, ID_BODY, type SessionEvent, type EventList, type FieldFault } from "@berth/contract";
import type { Feed } from "../../events/feed.ts";
import { eventPage, lastEventSeq, seqOfEvent, type StoredEvent } from "../../store/events.ts";
import type { Store } from "../../store/open.ts";
import { presentedKey, type Authenticate } from "../limits/authentication.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import { addRoute } from "../requests/route.ts";
import { parseLimit, single, type Query } from "../session-format/list-query.ts";
import { partnerIdOf } from "./route-context.ts";

export interface EventRouteDeps {
  store: Store;
  feed: Feed;
  authenticate: Authenticate;
}

const DEFAULT_LIMIT = 100;
const MAX_STREAMS_PER_PARTNER = 100;

// A partner's events, as a list or as a stream of server-sent events.
export function addEventRoutes(app: FastifyInstance, { store, feed, authenticate }: EventRouteDeps): void {
  const streams = new Map<string, Set<AbortController>>();
  app.addHook("preClose", (done) => {
    for (const open of streams.values()) for (const stop of open) stop.abort();
    done();
  });

  addRoute(app, "listEvents", async (request, reply) => {
    const partnerId = partnerIdOf(request);
    const { after, limit } = parseQuery(request);
    if (!wantsStream(request)) {
      const events = await eventPage(store.db, partnerId, after === undefined ? 0 : await seqOfEvent(store.db, partnerId, after), limit);
      return { data: events.map(toEvent), nextCursor: events.at(-1)?.id ?? after ?? null } satisfies EventList;
    }
    const open = streams.get(partnerId) ?? new Set();
    if (open.size >= MAX_STREAMS_PER_PARTNER)
      throw new AppError("rate_limited", { message: "Too many open event streams; close some of them", retryAfterSeconds: 10 });
    const seq = await (after === undefined ? lastEventSeq(store.db, partnerId) : seqOfEvent(store.db, partnerId, after));
    const stop = new AbortController();
    streams.set(partnerId, open.add(stop));
    reply.raw.once("close", () => {
      stop.abort();
      open.delete(stop);
    });
    const body = Readable.from(
      streamEvents(feed, partnerId, seq, stop.signal, () => hasValidKey(request, authenticate)),
      { objectMode: false },
    );
    return reply.type("text/event-stream").header("cache-control", "no-store").header("x-accel-buffering", "no").send(body);
  });
}

async function* streamEvents(
  feed: Feed,
  partnerId: string,
  afterSeq: number,
  signal: AbortSignal,
  isStillAllowed: () => Promise<boolean>,
): AsyncGenerator<string> {
  yield "retry: 2000\n\n";
  for await (const events of feed.follow(partnerId, afterSeq, signal)) {
    // The key may have been revoked in the meantime.
    if (!(await isStillAllowed())) return;
    yield events.length === 0 ? ": keep-alive\n\n" : events.map(toServerSentEvent).join("");
  }
}

const toServerSentEvent = (event: StoredEvent): string =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(toEvent(event))}\n\n`;

const toEvent = ({ id, type, at, data }: StoredEvent): SessionEvent => ({
  id,
  type: type as SessionEvent["type"],
  timestamp: new Date(at).toISOString(),
  data: data as SessionEvent["data"],
});

async function hasValidKey(request: FastifyRequest, authenticate: Authenticate): Promise<boolean> {
  const key = presentedKey(request.raw.rawHeaders);
  return key !== null && (await authenticate(key)) !== null;
}

const wantsStream = ({ headers }: FastifyRequest): boolean => headers.accept?.includes("text/event-stream") ?? false;

const EVENT_ID = new RegExp(`^evt_${ID_BODY}$`);

function parseQuery(request: FastifyRequest): { after: string | undefined; limit: number } {
  const faults: FieldFault[] = [];
  const query = request.query as Query;
  const limit = parseLimit(query, faults, DEFAULT_LIMIT);
  const lastEventId = request.headers["last-event-id"];
  const after = (wantsStream(request) && typeof lastEventId === "string" ? lastEventId : undefined) ?? single(query, "after", faults);
  if (after !== undefined && !EVENT_ID.test(after)) faults.push({ field: "after", message: "Must be the id of an event" });
  requireNoFaults(faults);
  return { after, limit };
}

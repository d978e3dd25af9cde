import Type, { type Static } from "typebox";

// What partners learn of their sessions: as a list, as a stream and as webhooks, always the same body.

export const EVENT_TYPES = [
  "session.created",
  "session.paused",
  "session.resumed",
  "session.destroyed",
  "session.timeout_warning",
  "session.failed",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
// Only ever sent to a webhook, when its owner asks for it.
export const TEST_EVENT_TYPE = "webhook.test";

export const Event = Type.Object(
  {
    id: Type.String({
      description: "Identifier of the event: `webhook-id` of its deliveries, `after` and `Last-Event-ID` when reading on.",
    }),
    type: Type.Enum([...EVENT_TYPES], { description: "What happened." }),
    timestamp: Type.String({ format: "date-time", description: "When it happened." }),
    data: Type.Object(
      { sessionId: Type.String({ description: "The session it happened to." }) },
      { additionalProperties: true, description: "The session as it was then: sandboxId, externalUserId, status, reason, metadata." },
    ),
  },
  { $id: "Event" },
);
export type Event = Static<typeof Event>;

export const EventList = Type.Object(
  {
    data: Type.Array(Event, { description: "Oldest first." }),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: "`after` for the next call, also when there is nothing more yet; null when there has been no event at all.",
    }),
  },
  { $id: "EventList" },
);
export type EventList = Static<typeof EventList>;

import Type, { type Static } from "typebox";

// The events of a partner's sessions. Lists, streams and webhooks use the same body.

export const EVENT_TYPES = [
  "session.created",
  "session.paused",
  "session.resumed",
  "session.destroyed",
  "session.timeout_warning",
  "session.failed",
  "session.source_ready",
  "session.source_failed",
  "session.setup_finished",
  "process.exited",
  "run.started",
  "run.needs_input",
  "run.finished",
  "snapshot.created",
  "snapshot.failed",
  "snapshot.deleted",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
// Only sent to a webhook, at its owner's request.
export const TEST_EVENT_TYPE = "webhook.test";

export const SessionEvent = Type.Object(
  {
    id: Type.String({
      description:
        "The identifier of the event. Deliveries carry it as `webhook-id`; pass it as `after` or `Last-Event-ID` to continue after this event.",
    }),
    type: Type.Enum([...EVENT_TYPES], { description: "What happened." }),
    timestamp: Type.String({ format: "date-time", description: "When it happened." }),
    data: Type.Object(
      { sessionId: Type.String({ description: "The identifier of the session." }) },
      {
        additionalProperties: true,
        description:
          "The session at the time of the event: `sessionId`, `sandboxId`, `externalUserId`, `status`, `reason` and `metadata`. `process.exited` has `processId`, `name`, `processStatus` (`exited` or `lost`), `exitCode`, `signal`, `timedOut`, `startedAt`, `endedAt` and `durationMs` too. An event of a run has `runId`, `runStatus`, `reason`, `code`, `message`, `conversationId`, `waitsFor`, `tokens`, `durationMs` and `fileCount`. An event of a snapshot has `snapshotId`, `name`, `bytes` and `reason`, and the session that it was taken of.",
      },
    ),
  },
  { $id: "Event" },
);
export type SessionEvent = Static<typeof SessionEvent>;

export const EventList = Type.Object(
  {
    data: Type.Array(SessionEvent, { description: "The events, oldest first." }),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: "Pass it as `after` in the next call, even if there are no further events yet; null if there has never been an event.",
    }),
  },
  { $id: "EventList" },
);
export type EventList = Static<typeof EventList>;

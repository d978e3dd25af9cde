import Type, { type TObject, type TSchema } from "typebox";
import type { ErrorCode } from "./errors.ts";
import { EventList } from "./events.ts";
import {
  CreateSession,
  LaunchUrl,
  ResumedSession,
  ResumeSession,
  Session,
  SESSION_STATUSES,
  SessionList,
  SessionRead,
  StatusOnly,
  UpdateSession,
} from "./session.ts";
import {
  CreateWebhook,
  DeletedWebhook,
  Delivery,
  DeliveryList,
  RotatedSecret,
  UpdateWebhook,
  Webhook,
  WebhookList,
  WebhookWithSecret,
} from "./webhook.ts";

// Every route of the partner API as plain data: the server registers its handlers from this table and the OpenAPI
// description is derived from it, so the two cannot differ.

export interface Route {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  // With {id} for the parameter, relative to {base_url}.
  path: string;
  tag: "Sessions" | "Events" | "Webhooks" | "Description";
  summary: string;
  description: string;
  // No key asked for.
  public?: true;
  // Takes an Idempotency-Key.
  idempotent?: true;
  body?: { schema: TObject; required: boolean };
  query?: readonly Parameter[];
  success: { status: number; description: string; schema?: TSchema; media?: readonly string[]; etag?: true };
  // Besides those that every route shares (`commonErrors`).
  errors: readonly ErrorCode[];
}

export interface Parameter {
  name: string;
  in: "query" | "header";
  description: string;
  schema: TSchema;
}

const route = <const R extends Route>(definition: R): R => definition;

const query = (name: string, description: string, schema: TSchema): Parameter => ({ name, in: "query", description, schema });
const expand = query("expand", "`details` adds externalUserId, template, metadata, expiresAt and stopReason.", Type.Enum(["details"]));

export const ROUTES = {
  createSession: route({
    method: "POST",
    path: "/api/b2b/sessions",
    tag: "Sessions",
    summary: "Create a session",
    description: "Makes a sandbox for one of your users and answers when it is ready for work.",
    body: { schema: CreateSession, required: true },
    idempotent: true,
    success: { status: 201, description: "The session runs.", schema: Session },
    errors: [
      "validation_failed",
      "session_quota",
      "body_too_large",
      "unsupported_media_type",
      "sandbox_failed",
      "capacity_reached",
      "sandbox_timeout",
    ],
  }),
  listSessions: route({
    method: "GET",
    path: "/api/b2b/sessions",
    tag: "Sessions",
    summary: "List sessions",
    description:
      "Your sessions, newest first, also the destroyed ones of the last 30 days. A page keeps its place while sessions come and go.",
    query: [
      query("status", "Only sessions in this state.", Type.Enum([...SESSION_STATUSES])),
      query("externalUserId", "Only sessions of this user.", Type.String()),
      query(
        "metadata.{key}",
        "Only sessions whose metadata has this value, for example `metadata.plan=pro`. May be repeated with other keys.",
        Type.String(),
      ),
      query("limit", "How many at most.", Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      query("cursor", "The `nextCursor` of the page before.", Type.String()),
      expand,
    ],
    success: { status: 200, description: "A page of sessions.", schema: SessionList },
    errors: ["validation_failed"],
  }),
  getSession: route({
    method: "GET",
    path: "/api/b2b/sessions/{id}",
    tag: "Sessions",
    summary: "Read a session",
    description: "A destroyed session can be read for 30 days.",
    query: [
      expand,
      {
        name: "If-None-Match",
        in: "header",
        description: "The `ETag` of an earlier answer: 304 when nothing has changed.",
        schema: Type.String(),
      },
    ],
    success: { status: 200, description: "The session.", schema: SessionRead, etag: true },
    errors: ["session_not_found"],
  }),
  updateSession: route({
    method: "PATCH",
    path: "/api/b2b/sessions/{id}",
    tag: "Sessions",
    summary: "Change a session",
    description:
      "Gives a session more (or less) time, or other metadata. What is left out stays as it is; metadata is replaced as a whole.",
    query: [expand],
    body: { schema: UpdateSession, required: true },
    success: { status: 200, description: "The session as it is now.", schema: SessionRead },
    errors: ["validation_failed", "session_not_found", "session_busy", "body_too_large", "unsupported_media_type"],
  }),
  destroySession: route({
    method: "DELETE",
    path: "/api/b2b/sessions/{id}",
    tag: "Sessions",
    summary: "Destroy a session",
    description: "Removes the sandbox and its files for good. Repeating it is not an error. A body is ignored.",
    success: { status: 200, description: "The session is destroyed.", schema: StatusOnly },
    errors: ["session_not_found", "body_too_large", "session_elsewhere", "sandbox_failed", "sandbox_timeout"],
  }),
  pauseSession: route({
    method: "POST",
    path: "/api/b2b/sessions/{id}/pause",
    tag: "Sessions",
    summary: "Pause a session",
    description: "Stops the clock of a running session; nothing is lost. A body is ignored.",
    idempotent: true,
    success: { status: 200, description: "The session is paused.", schema: StatusOnly },
    errors: [
      "session_not_found",
      "session_already_paused",
      "session_busy",
      "body_too_large",
      "session_elsewhere",
      "sandbox_failed",
      "sandbox_timeout",
    ],
  }),
  resumeSession: route({
    method: "POST",
    path: "/api/b2b/sessions/{id}/resume",
    tag: "Sessions",
    summary: "Resume a session",
    description: "Brings a paused session back over the same files. Its timeout counts anew.",
    body: { schema: ResumeSession, required: false },
    idempotent: true,
    success: { status: 200, description: "The session runs again.", schema: ResumedSession },
    errors: [
      "validation_failed",
      "session_not_found",
      "session_already_running",
      "session_busy",
      "body_too_large",
      "unsupported_media_type",
      "session_elsewhere",
      "sandbox_failed",
      "capacity_reached",
      "sandbox_timeout",
    ],
  }),
  issueLaunchUrl: route({
    method: "POST",
    path: "/api/b2b/sessions/{id}/launch-url",
    tag: "Sessions",
    summary: "Issue a launch URL",
    description: "A signed URL that opens the session's workspace in your user's browser. It lives for a few minutes. A body is ignored.",
    idempotent: true,
    success: { status: 200, description: "The URL and when it ends.", schema: LaunchUrl },
    errors: ["session_not_found", "body_too_large"],
  }),
  listEvents: route({
    method: "GET",
    path: "/api/b2b/events",
    tag: "Events",
    summary: "Read events",
    description:
      "What happened to your sessions, oldest first, for 30 days. With `Accept: text/event-stream` the same as a stream that stays open: without `after` or `Last-Event-ID` it begins with what happens next.",
    query: [
      query("after", "Only events after this one: an event's id, or the `nextCursor` of an earlier answer.", Type.String()),
      query("limit", "How many at most.", Type.Integer({ minimum: 1, maximum: 100, default: 100 })),
      { name: "Last-Event-ID", in: "header", description: "Streams only: the last event that was seen.", schema: Type.String() },
    ],
    success: { status: 200, description: "Events, oldest first.", schema: EventList, media: ["text/event-stream"] },
    errors: ["validation_failed"],
  }),
  createWebhook: route({
    method: "POST",
    path: "/api/b2b/webhooks",
    tag: "Webhooks",
    summary: "Create a webhook",
    description: "From now on, events are sent there.",
    idempotent: true,
    body: { schema: CreateWebhook, required: true },
    success: { status: 201, description: "The webhook, with its secret.", schema: WebhookWithSecret },
    errors: ["validation_failed", "webhook_quota", "body_too_large", "unsupported_media_type"],
  }),
  listWebhooks: route({
    method: "GET",
    path: "/api/b2b/webhooks",
    tag: "Webhooks",
    summary: "List webhooks",
    description: "All of them, oldest first.",
    success: { status: 200, description: "Your webhooks.", schema: WebhookList },
    errors: [],
  }),
  getWebhook: route({
    method: "GET",
    path: "/api/b2b/webhooks/{id}",
    tag: "Webhooks",
    summary: "Read a webhook",
    description: "Also tells whether it was disabled, and why.",
    success: { status: 200, description: "The webhook.", schema: Webhook },
    errors: ["webhook_not_found"],
  }),
  updateWebhook: route({
    method: "PATCH",
    path: "/api/b2b/webhooks/{id}",
    tag: "Webhooks",
    summary: "Change a webhook",
    description: "What is left out stays as it is.",
    body: { schema: UpdateWebhook, required: true },
    success: { status: 200, description: "The webhook as it is now.", schema: Webhook },
    errors: ["validation_failed", "webhook_not_found", "body_too_large", "unsupported_media_type"],
  }),
  deleteWebhook: route({
    method: "DELETE",
    path: "/api/b2b/webhooks/{id}",
    tag: "Webhooks",
    summary: "Delete a webhook",
    description: "Nothing more is sent there. A body is ignored.",
    success: { status: 200, description: "It is gone.", schema: DeletedWebhook },
    errors: ["webhook_not_found", "body_too_large"],
  }),
  rotateWebhookSecret: route({
    method: "POST",
    path: "/api/b2b/webhooks/{id}/rotate-secret",
    tag: "Webhooks",
    summary: "Rotate a webhook's secret",
    description: "For 24 hours everything is signed with the new and the old secret, so that receivers can change over. A body is ignored.",
    idempotent: true,
    success: { status: 200, description: "The new secret.", schema: RotatedSecret },
    errors: ["webhook_not_found", "body_too_large"],
  }),
  testWebhook: route({
    method: "POST",
    path: "/api/b2b/webhooks/{id}/test",
    tag: "Webhooks",
    summary: "Send a test event",
    description: "Sends an event of the type `webhook.test`. A body is ignored.",
    idempotent: true,
    success: { status: 202, description: "It is on its way.", schema: Delivery },
    errors: ["webhook_not_found", "body_too_large"],
  }),
  listDeliveries: route({
    method: "GET",
    path: "/api/b2b/webhooks/{id}/deliveries",
    tag: "Webhooks",
    summary: "List deliveries",
    description: "What was sent to a webhook in the last 30 days, or waits to be.",
    query: [
      query("state", "Only deliveries in this state.", Type.Enum(["pending", "delivered", "failed"])),
      query("limit", "How many at most.", Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      query("cursor", "The `nextCursor` of the page before.", Type.String()),
    ],
    success: { status: 200, description: "A page of deliveries.", schema: DeliveryList },
    errors: ["validation_failed", "webhook_not_found"],
  }),
  redeliver: route({
    method: "POST",
    path: "/api/b2b/webhooks/{id}/deliveries/{deliveryId}/redeliver",
    tag: "Webhooks",
    summary: "Send a delivery again",
    description: "The same event with the same `webhook-id`, at once. A body is ignored.",
    idempotent: true,
    success: { status: 202, description: "It is on its way.", schema: Delivery },
    errors: ["webhook_not_found", "delivery_not_found", "body_too_large"],
  }),
  getDescription: route({
    method: "GET",
    path: "/api/b2b/docs",
    tag: "Description",
    summary: "Read this description",
    description: "This document, as YAML. No key is needed.",
    public: true,
    success: { status: 200, description: "OpenAPI 3.1.", media: ["application/yaml"] },
    errors: ["bad_request"],
  }),
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;

// What any call may meet: nothing but a public route is without the first.
export const commonErrors = (route: Route): readonly ErrorCode[] => [
  ...(route.public ? [] : (["unauthorized", "rate_limited", "store_unavailable", "unavailable"] as const)),
  ...(route.idempotent ? (["idempotency_in_flight", "idempotency_mismatch"] as const) : []),
  "internal",
];

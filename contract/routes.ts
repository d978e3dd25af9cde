import type { TObject, TSchema } from "typebox";
import type { ErrorCode } from "./errors.ts";
import { CreateSession, LaunchUrl, ResumedSession, ResumeSession, Session, StatusOnly } from "./session.ts";

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
  body?: { schema: TObject; required: boolean };
  query?: TObject;
  success: { status: number; description: string; schema?: TSchema; media?: string[]; headers?: readonly string[] };
  // Besides those that every route shares (`commonErrors`).
  errors: readonly ErrorCode[];
}

const route = <const R extends Route>(definition: R): R => definition;

export const ROUTES = {
  createSession: route({
    method: "POST",
    path: "/api/b2b/sessions",
    tag: "Sessions",
    summary: "Create a session",
    description: "Makes a sandbox for one of your users and answers when it is ready for work.",
    body: { schema: CreateSession, required: true },
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
  getSession: route({
    method: "GET",
    path: "/api/b2b/sessions/{id}",
    tag: "Sessions",
    summary: "Read a session",
    description: "A destroyed session can be read for 30 days.",
    success: { status: 200, description: "The session.", schema: Session },
    errors: ["session_not_found"],
  }),
  destroySession: route({
    method: "DELETE",
    path: "/api/b2b/sessions/{id}",
    tag: "Sessions",
    summary: "Destroy a session",
    description: "Removes the sandbox and its files for good. Repeating it is not an error. A body is ignored.",
    success: { status: 200, description: "The session is destroyed.", schema: StatusOnly },
    errors: ["session_not_found", "body_too_large", "sandbox_failed", "sandbox_timeout"],
  }),
  pauseSession: route({
    method: "POST",
    path: "/api/b2b/sessions/{id}/pause",
    tag: "Sessions",
    summary: "Pause a session",
    description: "Stops the clock of a running session; nothing is lost. A body is ignored.",
    success: { status: 200, description: "The session is paused.", schema: StatusOnly },
    errors: ["session_not_found", "session_already_paused", "session_busy", "body_too_large", "sandbox_failed", "sandbox_timeout"],
  }),
  resumeSession: route({
    method: "POST",
    path: "/api/b2b/sessions/{id}/resume",
    tag: "Sessions",
    summary: "Resume a session",
    description: "Brings a paused session back over the same files. Its timeout counts anew.",
    body: { schema: ResumeSession, required: false },
    success: { status: 200, description: "The session runs again.", schema: ResumedSession },
    errors: [
      "validation_failed",
      "session_not_found",
      "session_already_running",
      "session_busy",
      "body_too_large",
      "unsupported_media_type",
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
    success: { status: 200, description: "The URL and when it ends.", schema: LaunchUrl },
    errors: ["session_not_found", "body_too_large"],
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
export const commonErrors = (route: Route): readonly ErrorCode[] =>
  route.public ? ["internal"] : ["unauthorized", "rate_limited", "internal", "store_unavailable", "unavailable"];

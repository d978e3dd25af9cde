import { expect } from "vitest";
import type { Journey } from "./journey.ts";

const quiet = { autoStartAgent: false };

// Journeys with several sessions, and with the webhooks, keys and usage of a partner.
export const ACCOUNT_JOURNEYS: Journey[] = [
  {
    name: "lists are read page by page, and filtered",
    steps: [
      {
        call: "berth.sessions.create",
        options: { externalUserId: "$user-lister", metadata: { my_n: "1" }, ...quiet },
        keep: "one",
        together: [
          { call: "berth.sessions.create", options: { externalUserId: "$user-lister", metadata: { my_n: "2" }, ...quiet }, keep: "two" },
        ],
      },
      {
        call: "berth.sessions.list",
        options: { externalUserId: "$user-lister", pageSize: 1 },
        check: (listed: unknown[]) => expect(listed).toHaveLength(2),
      },
      {
        call: "berth.sessions.list",
        options: { externalUserId: "$user-lister", metadata: { my_n: "2" } },
        gives: [{ sessionId: "$two.sessionId" }],
      },
      { call: "one.destroy", together: [{ call: "two.destroy" }] },
    ],
  },
  {
    name: "two creates with one idempotency key make one session",
    steps: [
      { call: "berth.sessions.create", options: { externalUserId: "$user", idempotencyKey: "$user-twice", ...quiet }, keep: "first" },
      {
        call: "berth.sessions.create",
        options: { externalUserId: "$user", idempotencyKey: "$user-twice", ...quiet },
        gives: { sessionId: "$first.sessionId" },
      },
      { call: "first.destroy" },
    ],
  },
  {
    name: "a create whose response is lost on the way makes one session",
    steps: [
      { call: "connect", options: { baseUrl: "$lossy" }, keep: "unlucky" },
      { call: "unlucky.sessions.create", options: { externalUserId: "$user-lost", ...quiet }, keep: "session" },
      { call: "berth.sessions.list", options: { externalUserId: "$user-lost" }, gives: [{ sessionId: "$session.sessionId" }] },
      { call: "berth.sessions.destroy", args: ["$session.sessionId"] },
    ],
  },
  {
    name: "errors have their own classes",
    steps: [
      { call: "berth.sessions.create", options: { externalUserId: "" }, throws: { name: "ValidationError", status: 400 } },
      { call: "berth.sessions.get", args: ["ses_nothing"], throws: { name: "SessionNotFoundError" } },
      { call: "berth.sessions.destroy", args: ["ses_nothing"], throws: { name: "SessionNotFoundError" } },
      { call: "berth.usage", options: { from: "yesterday" }, throws: { name: "ValidationError" } },
      { call: "connect", options: { apiKey: `berth_${"0".repeat(64)}` }, keep: "stranger" },
      { call: "stranger.sessions.get", args: ["ses_nothing"], throws: { name: "UnauthorizedError", status: 401 } },
    ],
  },
  {
    name: "events are listed, streamed and delivered to webhooks",
    steps: [
      { call: "berth.events.list", check: (events: { id: string }[], kept) => void (kept["before"] = events.at(-1)!.id) },
      { call: "berth.webhooks.create", options: { url: "$receiver", types: ["session.created"] }, keep: "webhook" },
      { call: "berth.sessions.create", options: { externalUserId: "$user", ...quiet }, keep: "session" },
      { call: "session.destroy" },
      {
        call: "berth.events.stream",
        options: { after: "$before" },
        take: 2,
        gives: [
          { type: "session.created", data: { sessionId: "$session.sessionId", externalUserId: "$user" } },
          { type: "session.destroyed" },
        ],
      },
      {
        call: "berth.events.list",
        options: { after: "$before", pageSize: 1 },
        gives: [{ type: "session.created" }, { type: "session.destroyed" }],
      },
      {
        call: "berth.webhooks.deliveries",
        args: ["$webhook.id"],
        options: { state: "delivered" },
        gives: [{ type: "session.created", lastStatus: 200 }],
        keep: "deliveries",
        until: true,
      },
      {
        call: "verifyWebhook",
        args: ["$received.0.body", "$received.0.headers", "$webhook.secret"],
        gives: { type: "session.created", data: { sessionId: "$session.sessionId" } },
      },
      {
        call: "verifyWebhook",
        args: ["$received.0.body", "$received.0.headers", "whsec_AAAA"],
        throws: { name: "WebhookVerificationError" },
      },
      { call: "berth.webhooks.redeliver", args: ["$webhook.id", "$deliveries.0.id"], gives: { type: "session.created" } },
      {
        call: "berth.webhooks.get",
        args: ["$webhook.id"],
        check: (_webhook, { received }) => expect(received).toHaveLength(2),
        until: true,
      },
      {
        call: "berth.webhooks.update",
        args: ["$webhook.id"],
        options: { enabled: false },
        gives: { enabled: false, disabledReason: "api" },
      },
      { call: "berth.webhooks.rotateSecret", args: ["$webhook.id"], gives: { secret: expect.stringMatching(/^whsec_/) } },
      { call: "berth.webhooks.remove", args: ["$webhook.id"] },
      { call: "berth.webhooks.list", gives: [] },
    ],
  },
  {
    name: "a partner reads what its sessions used",
    steps: [
      { call: "berth.sessions.create", options: { externalUserId: "$user-usage", ...quiet }, keep: "session" },
      { call: "session.destroy" },
      {
        call: "berth.usage",
        options: { groupBy: ["user", "session"] },
        check: ({ data }: { data: { sessionId: string; runningSeconds: number }[] }, kept: Record<string, unknown>) => {
          const { sessionId } = kept["session"] as { sessionId: string };
          expect(data.find((row) => row.sessionId === sessionId)!.runningSeconds).toBeGreaterThan(0);
        },
      },
      { call: "berth.usageCsv", options: { groupBy: ["user"] }, gives: expect.stringMatching(/^[\w-]+-usage,\d/m) },
    ],
  },
  {
    name: "a partner creates, rotates and revokes its own keys",
    steps: [
      { call: "berth.keys.create", options: { name: "Reports", scope: "read" }, keep: "reports" },
      { call: "connect", options: { apiKey: "$reports.key" }, keep: "reader" },
      { call: "reader.sessions.list", options: { pageSize: 1 }, take: 1 },
      {
        call: "reader.sessions.create",
        options: { externalUserId: "$user" },
        throws: { name: "BerthError", status: 403, code: "insufficient_scope" },
      },
      {
        call: "berth.keys.rotate",
        args: ["$reports.id"],
        options: { overlapMs: 0 },
        keep: "rotated",
        gives: { name: "Reports", scope: "read", state: "active" },
      },
      { call: "reader.sessions.list", throws: { name: "UnauthorizedError" } },
      { call: "berth.keys.revoke", args: ["$rotated.id"], gives: { state: "revoked" } },
      {
        call: "berth.keys.list",
        check: (keys: { state: string }[]) => expect(keys.filter(({ state }) => state === "active")).toHaveLength(1),
      },
    ],
  },
  {
    name: "concurrent calls for one user get one session, which is resumed when it is paused and replaced when it is destroyed",
    steps: [
      { call: "connect", keep: "other" },
      {
        call: "berth.sessions.forUser",
        args: ["$user-jürgen"],
        options: quiet,
        keep: "mine",
        // As in another process, and once with other settings.
        together: [
          { call: "other.sessions.forUser", args: ["$user-jürgen"], options: quiet, keep: "theirs" },
          { call: "other.sessions.forUser", args: ["$user-jürgen"], options: { ...quiet, metadata: { plan: "pro" } } },
        ],
        check: (sessions: { sessionId: string }[]) => expect(new Set(sessions.map(({ sessionId }) => sessionId)).size).toBe(1),
      },
      { call: "mine.pause" },
      {
        call: "berth.sessions.forUser",
        args: ["$user-jürgen"],
        options: quiet,
        gives: { sessionId: "$mine.sessionId", status: "running" },
      },
      { call: "mine.destroy" },
      {
        call: "berth.sessions.forUser",
        args: ["$user-jürgen"],
        options: quiet,
        keep: "next",
        check: (next: { sessionId: string }, { mine }) => expect(next.sessionId).not.toBe((mine as { sessionId: string }).sessionId),
      },
      { call: "next.destroy" },
    ],
  },
];

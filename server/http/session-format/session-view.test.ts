import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import type { SessionView } from "../../sessions/sessions.ts";
import { pageJson, toSession, withDetails } from "./session-view.ts";

const BASE_URL = "https://berth.example";

const viewWith = (changes: Partial<SessionView>): SessionView => ({
  id: newId("ses", 1),
  sandboxId: newId("sbx", 1),
  partnerId: "acme",
  externalUserId: "user-1",
  status: "running",
  state: "running",
  generation: 2,
  template: "default",
  host: null,
  metadataJson: "{}",
  timeoutMs: 1000,
  expiresAt: 2000,
  idleTimeoutMs: null,
  idleAt: null,
  extendUntil: null,
  autoResume: false,
  onTimeout: "pause",
  maxTimeoutMs: null,
  resources: null,
  egress: null,
  volumes: null,
  setup: null,
  stopReason: null,
  createdAt: 1000,
  updatedAt: 1000,
  ...changes,
});

const unusual = { plan: 'a "quote", a \\ and a \n', "key-ä": "\u2028 \ud800 😀", ["__proto__"]: "x", toString: "y" };

test.each([
  { format: "detailed", toJson: withDetails },
  { format: "brief", toJson: toSession },
] as const)("a $format page contains the same data as single reads", ({ format, toJson }) => {
  const views = [viewWith({ metadataJson: JSON.stringify(unusual) }), viewWith({ status: "paused", expiresAt: null, stopReason: "api" })];
  expect(JSON.parse(pageJson(() => BASE_URL, views, { nextCursor: "abc", format }))).toEqual({
    data: views.map((view) => toJson(BASE_URL, view)),
    nextCursor: "abc",
  });
});

test("a page without sessions is an empty list", () => {
  expect(JSON.parse(pageJson(() => BASE_URL, [], { nextCursor: null, format: "detailed" }))).toEqual({ data: [], nextCursor: null });
});

test("stored metadata is copied into a page without parsing it", () => {
  const stored = '{ "spaces" :"survive" }';
  expect(pageJson(() => BASE_URL, [viewWith({ metadataJson: stored })], { nextCursor: null, format: "detailed" })).toContain(stored);
});

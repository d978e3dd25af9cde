import { expect, test } from "vitest";
import { sessionRow } from "../testing/session-row.ts";
import { parseSession, type SessionRow } from "./parse-session.ts";
import { isInStep, isPartnerSession, SESSION_STATES, type SessionState } from "./session.ts";
import { parseView, viewOf } from "./listing/view.ts";

const NOW_MS = Date.UTC(2030, 0, 1);
const lease = { lease_owner: "server-1", lease_until: NOW_MS + 1000 };
const STEPS: SessionState[] = [
  "warming",
  "creating",
  "discarding",
  "pausing",
  "thawing",
  "rebuilding",
  "hibernating",
  "resuming",
  "destroying",
];

// A row as the server writes it in this state.
function rowIn(state: SessionState, changes: Partial<SessionRow> = {}): SessionRow {
  const isPaused = ["paused", "hibernating", "resuming"].includes(state);
  const isRunning = ["running", "pausing", "thawing", "rebuilding"].includes(state);
  return sessionRow(NOW_MS, {
    state,
    ...(STEPS.includes(state) && lease),
    expires_at: isRunning ? NOW_MS + 60_000 : null,
    paused_at: isPaused ? NOW_MS : null,
    destroyed_at: state === "destroyed" ? NOW_MS : null,
    ...(["warming", "warm", "discarding"].includes(state) && { partner_id: null, external_user_id: null }),
    ...changes,
  });
}

test.each(SESSION_STATES)("a row in the state %s is parsed, and its view is the same as that of its columns", (state) => {
  const row = rowIn(state);
  const session = parseSession(row);
  expect(session.state).toBe(state);
  expect(isInStep(session)).toBe(STEPS.includes(state));
  expect(isPartnerSession(session)).toBe(row.partner_id !== null);
  expect(viewOf(session)).toEqual(parseView(row));
});

test.each([
  ["running", "expires_at"],
  ["paused", "paused_at"],
  ["destroyed", "destroyed_at"],
  ["pausing", "lease_owner"],
  ["resuming", "lease_until"],
  ["running", "partner_id"],
] as const)("a row that is %s without %s is refused", (state, column) => {
  const row = { ...rowIn(state), [column]: null };
  expect(() => parseSession(row)).toThrow(`The row of ${row.id} is ${state} but has no ${column}`);
});

test("a row in an unknown state is refused", () => {
  const row = { ...rowIn("running"), state: "asleep" as SessionState };
  expect(() => parseSession(row)).toThrow(`The row of ${row.id} has the unknown state asleep`);
});

test("a create knows whether its sandbox comes from the pool", () => {
  expect(parseSession(rowIn("creating", { generation: 1 }))).toMatchObject({ sandbox: "to_create" });
  expect(parseSession(rowIn("creating", { generation: 3 }))).toMatchObject({ sandbox: "from_pool" });
});

test("a session that is destroyed still shows what it was", () => {
  expect(parseSession(rowIn("destroying"))).toMatchObject({ was: "running" });
  expect(parseSession(rowIn("destroying", { paused_at: NOW_MS }))).toMatchObject({ was: "paused" });
});

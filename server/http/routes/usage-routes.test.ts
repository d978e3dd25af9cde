import { afterAll, beforeAll, expect, test } from "vitest";
import type { UsageReport } from "@berth/contract";
import { readConfig } from "../../config/config.ts";
import { issueKey } from "../../keys/keys.ts";
import { addUsage } from "../../store/usage/days.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { createUsageReports } from "../../usage/usage-reports.ts";
import { startTestApp, type TestApp } from "../testing/test-app.ts";

const DAY = Date.UTC(2030, 0, 10);
const clock = createTestClock(DAY + 3_600_000);
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ clock });
  await app.addPartner("other");
  const of = (session_id: string, external_user_id: string, partner_id = "acme") => ({
    session_id,
    external_user_id,
    partner_id,
    template: "default",
    day: DAY,
  });
  await addUsage(app.store.db, [
    { ...of("ses_1", "ada"), running_ms: 1500, memory_peak: 10, memory_sum: 15, memory_samples: 2, output_tokens: 4 },
    { ...of("ses_2", '=HYPERLINK("x")'), running_ms: 500 },
    { ...of("ses_3", "eve", "other"), running_ms: 999_000 },
  ]);
});
afterAll(() => app[Symbol.asyncDispose]());

const report = async (query: string) => (await app.call("GET", `/api/b2b/usage${query}`)).json as UsageReport;
const csv = async (query: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${app.base}/api/b2b/usage${query}`, { headers: { authorization: `Bearer ${app.key}`, ...headers } });
  return { type: response.headers.get("content-type"), text: await response.text() };
};

test("a partner gets the usage of its own sessions in the last 30 days", async () => {
  expect(await report("")).toMatchObject({
    from: "2029-12-12",
    to: "2030-01-11",
    currency: null,
    data: [{ runningSeconds: 2, memoryPeakBytes: 10, memoryMeanBytes: 8, outputTokens: 4, estimatedCost: null }],
  });
  expect((await report("?groupBy=user,day")).data).toMatchObject([
    { externalUserId: '=HYPERLINK("x")', day: "2030-01-10", runningSeconds: 0.5 },
    { externalUserId: "ada", day: "2030-01-10", runningSeconds: 1.5 },
  ]);
  expect(await report("?from=2030-01-01&to=2030-01-10&groupBy=session")).toMatchObject({ from: "2030-01-01", to: "2030-01-10", data: [] });
});

test("CSV has the same rows, and no cell that a spreadsheet takes for a formula", async () => {
  const { type, text } = await csv("?groupBy=user", { accept: "text/csv" });
  expect(type).toBe("text/csv; charset=utf-8");
  const [header, ...lines] = text.trimEnd().split("\r\n");
  expect(header).toBe(
    "externalUserId,runningSeconds,pausedSeconds,hibernatedSeconds,cpuSeconds,memoryPeakBytes,memoryMeanBytes,diskPeakBytes,diskMeanBytes,egressBytes,ingressBytes,inputTokens,outputTokens,estimatedCost,currency",
  );
  expect(lines).toEqual([`"'=HYPERLINK(""x"")",0.5,0,0,0,0,0,0,0,0,0,0,0,,`, "ada,1.5,0,0,0,10,8,0,0,0,0,0,4,,"]);
  expect((await csv("?groupBy=user&format=csv")).text).toBe(text);
});

test("prices give an estimated cost", async () => {
  const prices = readConfig({ BERTH_PRICE_CURRENCY: "EUR", BERTH_PRICE_RUNNING_HOUR: "3.6", BERTH_PRICE_OUTPUT_TOKENS: "50" }).config;
  const { currency, data } = await createUsageReports({ store: app.store, clock, prices }).read("acme", {
    fromDay: DAY,
    toDay: DAY + 1,
    groups: ["session"],
  });
  expect(currency).toBe("EUR");
  expect(data.map(({ estimatedCost }) => estimatedCost)).toEqual([0.0017, 0.0005]);
});

test.each([
  ["?from=2030-02-30", "from"],
  ["?from=yesterday", "from"],
  ["?from=2030-01-11&to=2030-01-10", "from"],
  ["?from=2020-01-01", "from"],
  ["?to=2030-1-1", "to"],
  ["?to=2030-01-01&to=2030-01-02", "to"],
  ["?groupBy=partner", "groupBy"],
  ["?groupBy=user,user", "groupBy"],
  ["?groupBy=session_id;drop", "groupBy"],
  ["?format=xml", "format"],
])("%s is refused, with the field %s", async (query, field) => {
  const response = await app.call("GET", `/api/b2b/usage${query}`);
  expect(response.status).toBe(400);
  expect(response.json).toMatchObject({ error: "Validation failed", details: [{ field }] });
});

test("the scope read is enough, and a request without a key is refused", async () => {
  const { key } = await issueKey(app.store.db, clock, "acme", { scope: "read" });
  expect((await app.call("GET", "/api/b2b/usage", { key })).status).toBe(200);
  expect((await app.call("GET", "/api/b2b/usage", { key: null })).status).toBe(401);
});

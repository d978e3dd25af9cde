import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { formatPage, PAGE } from "./page.ts";
import type { Report } from "./report.ts";
import { addRuns, formatResults, replacePart, type Result } from "./results.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const results = new Map(
  globSync("bench/results/*.json", { cwd: root }).map((path) => [basename(path, ".json"), JSON.parse(read(path)) as Result[]]),
);

test("the page and the tables have the numbers of bench/results; if not, run `node bench/document.ts`", () => {
  expect(replacePart(read("docs/performance.md"), "rows", formatPage(results)) === read("docs/performance.md")).toBe(true);
  const stale = [...results].filter(([name, sections]) => {
    const text = read(`bench/results/${name}.md`);
    return replacePart(text, "results", formatResults(name, sections)) !== text;
  });
  expect(stale.map(([name]) => name)).toEqual([]);
});

test("a person can read the page: twenty rows on at most eighty lines", () => {
  expect(read("docs/performance.md").split("\n").length).toBeLessThanOrEqual(80);
  expect(PAGE.length).toBeLessThanOrEqual(20);
});

test("every row of the page names a section of a benchmark that has results", () => {
  const unknown = PAGE.filter(({ benchmark, section }) => !results.get(benchmark)?.some(({ title }) => title === section));
  expect(unknown.map(({ label }) => label)).toEqual([]);
});

test("a section of a new run replaces the older one with its facts, and the larger of two runs counts", () => {
  const section = (title: string, values: number[]) => ({ title, rows: [{ what: "Berth", unit: "ms" as const, values }] });
  const machine = { cores: 2, processor: "p", architecture: "x64", kernel: "k", node: "v24", memoryGb: 1, driver: "oci", commit: "c" };
  const run = (startedAt: string, ...sections: Report["sections"]): Report => {
    return { benchmark: "b", startedAt, tookS: 1, isShort: false, machine, remarks: [], sections };
  };
  const known = addRuns([], [run("2026-01-01", section("kept", [1]), section("again", [1, 1, 1]))]);
  const merged = addRuns(known, [run("2026-01-02", section("again", [5, 5])), run("2026-01-03", section("again", [7]))]);
  expect(merged.map(({ title, startedAt, rows }) => [title, startedAt, rows[0]!.p50])).toEqual([
    ["kept", "2026-01-01", 1],
    ["again", "2026-01-02", 5],
  ]);
  expect(JSON.stringify(merged)).not.toContain("values");
});

test("a row shows what it stands beside, its ratio to the limit, and the limit in place of a target beyond it", () => {
  const machine = results.get("terminal")![0]!.machine;
  const rows = [
    {
      what: "Berth",
      unit: "ms" as const,
      count: 3,
      p50: 6,
      p95: 8,
      p99: 9,
      beside: "pseudo-terminal",
      ratio: 3,
      verdict: "ratio ≤ 1.5: missed",
    },
    { what: "pseudo-terminal", unit: "ms" as const, count: 3, p50: 2, p95: 2, p99: 2 },
    { what: "behind two empty relays", unit: "ms" as const, count: 3, p50: 4, p95: 4, p99: 4 },
  ];
  const result: Result = { title: "Echo of a keystroke", rows, startedAt: "2026-01-01T10:00:00Z", isShort: false, machine, remarks: [] };
  const [, , line, , measured] = formatPage(new Map([["terminal", [result]]])).split("\n");
  expect(measured).toBe("Measured on 2026-01-01 (terminal).");
  expect(line!.split("|").map((cell) => cell.trim())).toEqual([
    "",
    "[Echo of a keystroke](../bench/results/terminal.md)",
    "6.00 ms, p99 9.00",
    "pseudo-terminal: 2.00 ms",
    "3.00",
    "the limit",
    "two processes that only copy bytes: 4.00 ms; ours is 1.50 ×",
    "",
  ]);
});

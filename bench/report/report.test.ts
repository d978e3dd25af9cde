import { expect, test } from "vitest";
import { drawPlot } from "./plot.ts";
import { readSection, type Section } from "./report.ts";
import { formatSection } from "./table.ts";

const section: Section = {
  title: "create & destroy",
  rows: [
    { what: "runc", unit: "ms", values: [10, 10, 10] },
    {
      what: "Berth <warm>",
      unit: "ms",
      values: [4, 5, 30],
      beside: "runc",
      targets: [
        { of: "p50", atMost: 5 },
        { of: "p99", atMost: 20 },
        { of: "ratio", atMost: 0.4 },
        { of: "p50 − beside", atMost: -4.5 },
      ],
      more: { "CPU ms": "7.0" },
    },
    { what: "docker", unit: "ms", values: [], beside: "nothing" },
  ],
};

test("a row's ratio compares its median with that of the row beside it, and each target is judged", () => {
  const [, berth, docker] = readSection(section).rows;
  expect(berth).toMatchObject({
    p50: 5,
    p99: 30,
    ratio: 0.5,
    verdict: "p50 ≤ 5: met, p99 ≤ 20: missed, ratio ≤ 0.4: missed, p50 − beside ≤ -4.5: met",
  });
  expect(docker!.ratio).toBeUndefined();
});

test("the table shows every row, and a dash where nothing was measured", () => {
  const lines = formatSection(readSection(section)).split("\n");
  expect(lines[0]).toBe("create & destroy");
  expect(lines[2]).toMatch(/^\| what +\| unit \| n +\| p50 +\| p95 +\| p99 +\| ratio +\| CPU ms \| target +\|$/);
  expect(lines[5]).toMatch(/^\| Berth <warm> \| ms +\| 3 +\| 5\.00 \| 30\.0 \| 30\.0 \| 0\.500 × runc \| 7\.0 +\| p50 ≤ 5: met,/);
  expect(lines[6]).toMatch(/^\| docker +\| ms +\| 0 +\| - +\| - +\| - +\|/);
  expect(new Set(lines.slice(2).map((line) => line.length)).size).toBe(1);
});

test("the plot is well-formed, has a line for each row with values, and stays inside its frame", () => {
  const svg = drawPlot([readSection(section)]);
  expect(svg.match(/<circle/g)).toHaveLength(2);
  expect(svg).toContain("Berth &lt;warm>");
  expect(svg).toContain("create &amp; destroy (ms)");
  const width = Number(/viewBox="0 0 (\d+) /.exec(svg)![1]);
  for (const [, x] of svg.matchAll(/(?:cx="|d="M|H)(\d+)/g)) expect(Number(x)).toBeLessThan(width);
});

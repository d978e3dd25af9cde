import { REASONS } from "./reasons.ts";

export type Results = TestResult[];

interface TestResult {
  file: string;
  name: string;
  isPassed: boolean;
  // Why it cannot pass; null if it can, or if nobody knows.
  reason: string | null;
}

interface VitestReport {
  testResults: { name: string; assertionResults: { fullName: string; status: string }[] }[];
}

// The tests that pass although no service answers.
export const findIndependent = (withoutService: string): ReadonlySet<string> =>
  new Set(
    testsOf(withoutService)
      .filter(({ status }) => status === "passed")
      .map(({ id }) => id),
  );

// The results of the tests that need the service.
export function readResults(withService: string, independent: ReadonlySet<string>): Results {
  return testsOf(withService)
    .filter(({ id, status }) => !independent.has(id) && (status === "passed" || status === "failed"))
    .map(({ file, name, status }) => ({
      file,
      name,
      isPassed: status === "passed",
      reason: REASONS.find((known) => known.file === file && name.includes(known.test))?.reason ?? null,
    }));
}

export const isComplete = (results: Results): boolean =>
  results.length > 0 && results.every(({ isPassed, reason }) => isPassed || reason !== null);

// `runs` have the same tests.
export function describeRuns(runs: readonly { version: string; results: Results }[]): string {
  const files = [...new Set(runs.flatMap(({ results }) => results.map(({ file }) => file)))].toSorted();
  const cell = (results: Results) => `${results.filter(({ isPassed }) => isPassed).length} of ${results.length}`;
  const table = [
    ["file", ...runs.map(({ version }) => `passed with ${version}`)],
    ["---", ...runs.map(() => "---")],
    ...files.map((file) => [file, ...runs.map(({ results }) => cell(results.filter((result) => result.file === file)))]),
    ["**all**", ...runs.map(({ results }) => `**${cell(results)}**`)],
  ].map(toRow);
  const failed = new Map<string, { test: string; reason: string; versions: string[] }>();
  for (const { version, results } of runs)
    for (const { file, name, isPassed, reason } of results) {
      if (isPassed) continue;
      const test = `${file}: ${name}`;
      const entry = failed.get(test) ?? { test, reason: reason ?? "**not known**", versions: [] };
      entry.versions.push(version);
      failed.set(test, entry);
    }
  const reasons = [...failed.values()].map(({ test, reason, versions }) => toRow([test, versions.join(", "), reason]));
  return [...table, "", toRow(["test that does not pass", "with", "reason"]), toRow(["---", "---", "---"]), ...reasons].join("\n");
}

const toRow = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

function testsOf(report: string): { id: string; file: string; name: string; status: string }[] {
  const { testResults } = JSON.parse(report) as VitestReport;
  return testResults.flatMap(({ name: path, assertionResults }) => {
    const file = path.slice(path.indexOf("/tests/") + "/tests/".length).replace(/\.test\.ts$/, "");
    return assertionResults.map(({ fullName: name, status }) => ({ id: `${file} ${name}`, file, name, status }));
  });
}

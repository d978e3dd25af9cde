import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

// Prints the skipped tests and their reasons at the end of a run. Other reporters do not show files that are skipped as a
// whole.
export function reportSkips(): Reporter {
  let isWhole = true;
  return {
    onInit(vitest: Vitest) {
      // With a name pattern, Vitest skips all other tests.
      isWhole = vitest.config.testNamePattern === undefined;
    },
    onTestRunEnd(modules) {
      if (!isWhole) return;
      for (const module of modules) for (const line of skipsOf(module)) console.log(`skipped in ${module.relativeModuleId}: ${line}`);
    },
  };
}

// The outermost suites that are skipped as a whole with a reason, or else the tests.
function skipsOf(parent: TestModule | TestSuite): string[] {
  return parent.children.array().flatMap((child) => {
    if (child.type === "test") return isSkipped(child) ? [lineOf(child)] : [];
    const tests = [...child.children.allTests()];
    const hasReason = child.name.includes("[skipped: ");
    return hasReason && tests.every(isSkipped) ? [`${child.fullName} (${tests.length} tests)`] : skipsOf(child);
  });
}

function lineOf(test: TestCase): string {
  const result = test.result();
  return result.state === "skipped" && result.note !== undefined ? `${test.fullName}, because ${result.note}` : test.fullName;
}

const isSkipped = (test: TestCase) => test.result().state === "skipped";

import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

// Ends a run with what was skipped: the names hold the reason, and the other reporters show none of a file that is skipped
// as a whole.
export function reportSkips(): Reporter {
  let isWhole = true;
  return {
    onInit(vitest: Vitest) {
      // Asked for one test by its name, Vitest skips all others.
      isWhole = vitest.config.testNamePattern === undefined;
    },
    onTestRunEnd(modules) {
      if (!isWhole) return;
      for (const module of modules) for (const line of skipsOf(module)) console.log(`skipped in ${module.relativeModuleId}: ${line}`);
    },
  };
}

// The outermost suites that are skipped as a whole and say why; otherwise the tests themselves.
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

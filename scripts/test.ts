// `npm test`: the whole suite, and closing lines that say what was counted.
import { startVitest, type TestCase } from "vitest/node";

const vitest = await startVitest("test", process.argv.slice(2), { watch: false });
const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
const count = (state: string) => tests.filter((test) => test.result().state === state).length;
await vitest.close();
for (const test of tests.filter((one) => one.diagnostic()?.flaky)) console.log(`passed at the second try: ${nameOf(test)}`);
console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);

function nameOf(test: TestCase): string {
  const first = test.result().errors?.[0]?.message.split("\n")[0];
  return `${test.module.relativeModuleId} > ${test.fullName} (first: ${first ?? "no message"})`;
}

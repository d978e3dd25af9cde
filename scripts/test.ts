// `npm test`: the whole suite, and a closing line with the counts.
import { startVitest } from "vitest/node";

const vitest = await startVitest("test", process.argv.slice(2), { watch: false });
const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
const count = (state: string) => tests.filter((test) => test.result().state === state).length;
await vitest.close();
console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);

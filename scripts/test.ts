// `npm test`: the whole suite, or `npm test -- {file or folder} -t {part of a name}`, and a closing line with the counts.
import { parseCLI, startVitest } from "vitest/node";

const { filter, options } = parseCLI(["vitest", ...process.argv.slice(2)]);
const vitest = await startVitest("test", filter, { ...options, watch: false });
const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
const count = (state: string) => tests.filter((test) => test.result().state === state).length;
await vitest.close();
console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);

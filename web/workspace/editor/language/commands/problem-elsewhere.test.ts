import { expect, test } from "vitest";
import type { Problem } from "../../../state/sandbox/languages.ts";
import { problemElsewhere } from "./problem-elsewhere.ts";

const at = (line: number): Problem => ({ severity: "error", message: "", source: null, line, column: 1 });
const problems = { "a.ts": [at(9), at(3)], "b.ts": [], "c.ts": [at(5)], "d.ts": [at(1)] };

test("the next file with a problem follows in the order of names, around the end", () => {
  expect(problemElsewhere(problems, "a.ts", 1)).toEqual({ path: "c.ts", line: 5, column: 1 });
  expect(problemElsewhere(problems, "d.ts", 1)).toEqual({ path: "a.ts", line: 3, column: 1 });
});

test("going back ends at the last problem of the file before", () => {
  expect(problemElsewhere(problems, "c.ts", -1)).toEqual({ path: "a.ts", line: 9, column: 1 });
  expect(problemElsewhere({ "a.ts": [at(1)] }, "a.ts", -1)).toBeNull();
});

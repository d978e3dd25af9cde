import { expect, test } from "vitest";
import type { FormField } from "@berth/contract/questions.ts";
import { choicesFault, readForm } from "./read-form.ts";

const fields: FormField[] = [
  { id: "__proto__", label: "Name", required: true, type: "text" },
  { id: "age", label: "Age", required: false, type: "integer" },
  { id: "agree", label: "Agree", required: true, type: "boolean" },
  { id: "colour", label: "Colour", required: false, type: "choice", choices: [{ id: "", name: "Empty" }] },
  { id: "sizes", label: "Sizes", required: false, type: "choices", choices: [{ id: "S", name: "S" }], minItems: 2 },
];

test("a form's values have the types of their fields, and a field without an answer is left out", () => {
  const data = new FormData();
  for (const [name, value] of [
    ["0", "Ada\r\nL."],
    ["1", ""],
    ["3", "="],
    ["4", "S"],
  ] as const)
    data.append(name, value);
  const values = readForm(fields, data);
  expect(Object.entries(values)).toEqual([
    ["__proto__", "Ada\nL."],
    ["agree", false],
    ["colour", ""],
    ["sizes", ["S"]],
  ]);
  expect(choicesFault(fields, values)).toBe("Choose at least 2 of “Sizes”.");
  expect(choicesFault(fields, {})).toBe(null);
});

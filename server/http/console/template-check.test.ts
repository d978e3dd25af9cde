import { parse } from "yaml";
import { expect, test } from "vitest";
import { TEMPLATE_FORM_FIELDS, type TemplateForm } from "@berth/contract/console.ts";
import { checkTemplate } from "./template-check.ts";

const form = (values: Partial<TemplateForm>): TemplateForm => ({
  ...(Object.fromEntries(TEMPLATE_FORM_FIELDS.map((field) => [field, ""])) as TemplateForm),
  ...values,
});
const configured = new Map([["default", {}]]);

test("a valid template becomes the lines for the templates file", () => {
  const given = { name: "python", cpus: "0.5", memoryMb: "512", egress: "hosts", hosts: "pypi.org, *.github.com", agent: "none" };
  const { faults, yaml, replaces } = checkTemplate(form({ ...given, more: "env:\n  A: b\n" }), configured);
  expect([faults, replaces]).toEqual([[], false]);
  expect(parse(yaml ?? "")).toEqual({
    python: { cpus: 0.5, memoryMb: 512, egress: { policy: "hosts", hosts: ["pypi.org", "*.github.com"] }, agent: null, env: { A: "b" } },
  });
  expect(checkTemplate(form({ name: "default" }), configured)).toEqual({ faults: [], yaml: "default:\n", replaces: true });
});

test("every fault is named beside its field", () => {
  const wrong = { name: "Big Box", cpus: "-1", memoryMb: "lots", diskMb: "1", root: "usr", egress: "hosts", hosts: "http://x/" };
  const { faults, yaml } = checkTemplate(form({ ...wrong, more: "env: {BERTH_X: y}\ncolour: red\n" }), configured);
  expect(yaml).toBeNull();
  const fields = faults.map(({ field }) => field);
  expect(new Set(fields)).toEqual(new Set(["name", "cpus", "memoryMb", "diskMb", "root", "hosts", "more"]));
  expect(faults).toContainEqual({ field: "more", message: expect.stringMatching(/^colour is not a field of a template/) });
  expect(faults).toContainEqual({ field: "more", message: expect.stringMatching(/^env\.BERTH_X is not a valid variable name/) });
});

test("further fields must be YAML with fields", () => {
  const faultOf = (more: string) => checkTemplate(form({ name: "a", more }), configured).faults;
  expect(faultOf("env: {")).toMatchObject([{ field: "more", message: expect.stringMatching(/^line 1: /) }]);
  expect(faultOf("- a")).toEqual([{ field: "more", message: "must be fields of a template, such as env" }]);
  expect(faultOf("name: other")).toMatchObject([{ message: expect.stringMatching(/is not a field/) }]);
});

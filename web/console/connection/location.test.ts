import { expect, test, vi } from "vitest";

vi.stubGlobal("addEventListener", () => {});
const { hrefOf, parseLocation } = await import("./location.ts");
vi.unstubAllGlobals();

test("the address says which console and which page of it is shown", () => {
  expect(parseLocation("/console")).toMatchObject({ kind: "operator", path: [] });
  expect(parseLocation("/console/partners/acme")).toMatchObject({ kind: "operator", path: ["partners", "acme"] });
  expect(parseLocation("/console/partner")).toMatchObject({ kind: "partner", path: [] });
  expect(parseLocation("/console/partner/sessions/ses_1?status=all")).toMatchObject({ kind: "partner", path: ["sessions", "ses_1"] });
});

test("names in an address are escaped", () => {
  const href = hrefOf("operator", ["partners", "a/b?c"], { search: "x&y", status: "" });
  expect(href).toBe("/console/partners/a%2Fb%3Fc?search=x%26y");
  expect(parseLocation(href).path).toEqual(["partners", "a/b?c"]);
});

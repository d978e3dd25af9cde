import { expect, test } from "vitest";
import { pathAt, uriAt } from "./uris.ts";

const ROOT = "file:///workspace";

test("a path survives the way to a URI and back", () => {
  for (const path of ["a.ts", "src/ä b.ts", "app/[id]/page (1).tsx", "50%.py", "a#b?.ts"])
    expect(pathAt(ROOT, uriAt(ROOT, path))).toBe(path);
});

test("the server may escape other characters than we do", () => {
  expect(pathAt(ROOT, "file:///workspace/app/%5Bid%5D/%40x.ts")).toBe("app/[id]/@x.ts");
  expect(pathAt(ROOT, "file:///workspace/app/[id]/@x.ts")).toBe("app/[id]/@x.ts");
});

test("files outside the workspace have no path", () => {
  for (const uri of ["file:///workspace2/a.ts", "file:///opt/lib.d.ts", "untitled:1"]) expect(pathAt(ROOT, uri)).toBeNull();
});

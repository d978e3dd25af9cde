import { expect, test } from "vitest";
import { createMatchQueue } from "./match-queue.ts";

function run(paths: string[], limits: { limit: number; fileLimit: number }) {
  const queue = createMatchQueue(limits);
  const events = paths.flatMap((path, i) => queue.accept({ type: "match", path, line: i, column: 1, length: 1, text: "x" }));
  const all = [...events, ...queue.finish()];
  return { sent: all.map((event) => ("path" in event ? `${event.type} ${event.path}` : event.type)), ...queue.totals() };
}

test("a file with many matches sends the first of them and says that there are more", () => {
  expect(run(["a.ts", "a.ts", "a.ts", "a.ts", "b.ts"], { limit: 10, fileLimit: 2 })).toEqual({
    sent: ["match a.ts", "match a.ts", "more a.ts", "match b.ts"],
    matches: 3,
    files: 2,
    truncated: false,
  });
});

test("data files come last and cannot use up the limit", () => {
  const found = run(["data/all.json", "data/all.json", "package.json", "src/a.ts"], { limit: 3, fileLimit: 10 });
  expect(found.sent).toEqual(["match package.json", "match src/a.ts", "match data/all.json"]);
  expect(found).toMatchObject({ matches: 3, files: 3, truncated: true });
});

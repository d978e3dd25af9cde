import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

describe("search", () => {
  const search = async (query: string, daemon: TestDaemon) =>
    (await daemon.fetch(`/search?${query}`)).text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));

  test.each(["ripgrep", "builtin"])(
    "with %s matches text, whole words, case and regular expressions, and reports positions",
    async (engine) => {
      await using other = await startTestDaemon(engine === "builtin" ? { PATH: "/nowhere" } : {});
      mkdirSync(join(other.workspace, "node_modules"), { recursive: true });
      writeFileSync(join(other.workspace, "one.ts"), "const ü = 'Apple';\nconst applesauce = 2;\n");
      writeFileSync(join(other.workspace, "two.md"), "apple\n");
      writeFileSync(join(other.workspace, "binary"), Buffer.from([0, 1, 2, ...Buffer.from("apple")]));

      const all = await search("q=apple", other);
      expect(all.at(-1)).toEqual({ type: "done", matches: 3, files: 2, truncated: false, engine });
      expect(all[0]).toEqual({ type: "match", path: "one.ts", line: 1, column: 12, length: 5, text: "const ü = 'Apple';" });
      expect((await search("q=apple&case=1", other)).at(-1).matches).toBe(2);
      expect((await search("q=apple&word=1", other)).at(-1).matches).toBe(2);
      expect((await search("q=a%5Cw%2Bce&regex=1&include=*.ts", other)).at(-1).matches).toBe(1);
      expect((await search("q=apple&exclude=*.md", other)).at(-1).matches).toBe(2);
      expect((await search("q=apple&limit=1", other)).at(-1)).toMatchObject({ matches: 1, truncated: true });
      expect((await search("q=--files", other)).at(-1).matches).toBe(0);

      writeFileSync(join(other.workspace, "data.csv"), "apple\n".repeat(50));
      const limited = await search("q=apple&limit=20&fileLimit=5", other);
      expect(limited.map(({ type, path }) => `${type} ${path}`).slice(-7)).toEqual([
        ...Array.from({ length: 5 }, () => "match data.csv"),
        "more data.csv",
        "done undefined",
      ]);
      expect(limited.at(-1)).toMatchObject({ matches: 8, files: 3, truncated: false });
      expect((await search("q=apple&file=data.csv&limit=1000", other)).at(-1)).toMatchObject({ matches: 50, files: 1 });
    },
  );

  test("refuses an empty query and an invalid regular expression", async () => {
    await using daemon = await startTestDaemon();
    expect((await daemon.fetch("/search?q=")).status).toBe(400);
    expect((await daemon.fetch("/search?q=(&regex=1")).json).toMatchObject({
      error: "This is not a valid regular expression: Unterminated group",
    });
    expect((await daemon.fetch("/search?q=a&file=../a")).status).toBe(403);
  });

  test("says that ripgrep does not support a regular expression", async () => {
    await using daemon = await startTestDaemon();
    expect(await search(`q=${encodeURIComponent("a(?=b)")}&regex=1`, daemon)).toMatchObject([
      { type: "failed", message: expect.stringContaining("look-around") },
      { type: "done", matches: 0 },
    ]);
  });
});

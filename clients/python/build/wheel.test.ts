import { createHash } from "node:crypto";
import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { toSyncSource } from "./sync-source.ts";
import { packWheel, wheelName } from "./wheel.ts";

const facts = {
  name: "berth",
  version: "1.2.3",
  summary: "A client",
  license: "Apache-2.0",
  requiresPython: ">=3.9",
  requires: ["httpx>=0.23"],
  readme: "# berth\n",
};

test("the same files make the same wheel, which lists each of them with its hash", () => {
  const files = { "berth/__init__.py": "x = 1\n", "berth/py.typed": "" };
  const bytes = packWheel(facts, files);
  expect(wheelName(facts)).toBe("berth-1.2.3-py3-none-any.whl");
  expect(Buffer.from(packWheel(facts, files)).equals(bytes)).toBe(true);
  const unpacked = unzipSync(bytes);
  const record = Buffer.from(unpacked["berth-1.2.3.dist-info/RECORD"]!).toString().trim().split("\n");
  expect(record.map((line) => line.split(",")[0])).toEqual(Object.keys(unpacked));
  for (const line of record.slice(0, -1)) {
    const [path, hash, size] = line.split(",") as [string, string, string];
    expect([hash, size]).toEqual([
      `sha256=${createHash("sha256").update(unpacked[path]!).digest("base64url")}`,
      String(unpacked[path]!.length),
    ]);
  }
  expect(Buffer.from(unpacked["berth-1.2.3.dist-info/METADATA"]!).toString()).toContain("Requires-Dist: httpx>=0.23\n");
});

test("the blocking client has no words for waiting", () => {
  const source = `class AsyncX:
    async def load(self, ask: Callable[[str], Awaitable[Page[T]]]) -> AsyncIterator[T]:
        async with self.stream() as response:
            async for chunk in response.aiter_bytes():
                await anyio.sleep(1)
    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
`;
  expect(toSyncSource(source)).toBe(`class X:
    def load(self, ask: Callable[[str], Page[T]]) -> Iterator[T]:
        with self.stream() as response:
            for chunk in response.iter_bytes():
                time.sleep(1)
    def __exit__(self, *_: object) -> None:
        self.close()
`);
});

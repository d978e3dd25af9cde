import { expect, test } from "vitest";
import { createPostgresReader, type RunQuery } from "./postgres-reader.ts";

const TEXT = 'select "id" from "sessions" where "id" = $1';
const versionOf = (row: unknown) => (row as { version: number }).version;
const idOf = (row: unknown) => ({ id: (row as { id: string }).id });

// Answers each query with the rows of `known` that it asks for. A query for one row has no key.
function openReader(known: readonly string[]) {
  const asked: string[][] = [];
  const run: RunQuery = async (_text, [parameters]) => {
    asked.push([parameters].flat() as string[]);
    if (typeof parameters === "string") return known.includes(parameters) ? [{ id: parameters }] : [];
    return known.filter((id) => (parameters as string[]).includes(id)).map((id) => ({ wanted_key: id, id }));
  };
  return { asked, ...createPostgresReader(run) };
}

test("reads of the same round share one query, and those of one row the result", async () => {
  const { asked, read } = openReader(["a", "b"]);
  const [a, sameA, b, none] = await Promise.all(["a", "a", "b", "c"].map((id) => read(TEXT, id, idOf)));
  expect([a, b, none]).toEqual([{ id: "a" }, { id: "b" }, undefined]);
  expect(sameA).toBe(a);
  expect(asked).toEqual([["a", "b", "c"]]);
});

test("a read that begins after the query was sent gets a query of its own", async () => {
  const sent = Promise.withResolvers<void>();
  const answers = [Promise.withResolvers<Record<string, unknown>[]>(), Promise.withResolvers<Record<string, unknown>[]>()];
  let count = 0;
  const { read } = createPostgresReader(() => {
    sent.resolve();
    return answers[count++]!.promise;
  });
  const before = read(TEXT, "a", versionOf);
  await sent.promise;
  const after = read(TEXT, "a", versionOf);
  answers[0]!.resolve([{ version: 1 }]);
  answers[1]!.resolve([{ version: 2 }]);
  expect([await before, await after]).toEqual([1, 2]);
});

test("a row that cannot be parsed and a parameter that cannot be stored affect no other read", async () => {
  const { asked, read } = openReader(["bad", "good"]);
  const parse = (row: unknown) => {
    if (idOf(row).id === "bad") throw new Error("malformed");
    return idOf(row);
  };
  const [bad, impossible, good] = await Promise.allSettled(["bad", "x\0", "good"].map((id) => read(TEXT, id, parse)));
  expect(bad).toMatchObject({ status: "rejected", reason: { message: "malformed" } });
  expect(impossible).toEqual({ status: "fulfilled", value: undefined });
  expect(good).toEqual({ status: "fulfilled", value: { id: "good" } });
  expect(asked).toEqual([["bad", "good"]]);
});

test("a query that fails rejects its reads, and the next one is sent", async () => {
  let fails = true;
  const { read } = createPostgresReader(async () => {
    if (fails) throw new Error("the database is gone");
    return [{ id: "a" }];
  });
  await expect(read(TEXT, "a", idOf)).rejects.toThrow("the database is gone");
  fails = false;
  expect(await read(TEXT, "a", idOf)).toEqual({ id: "a" });
});

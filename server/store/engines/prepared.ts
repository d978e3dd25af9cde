import type { CompiledQuery } from "kysely";
import type { Engine } from "./engine.ts";
import type { Db } from "../schema.ts";

// Compiles a query with one parameter once, for rows that every request reads. See Store.first.
export function prepareFirst<Row, Result>(
  build: (db: Db) => CompiledQuery<Row>,
  parse: (row: Row) => Result,
): (store: Reader, parameter: string) => Promise<Result | undefined> {
  const built: Partial<Record<Engine, CompiledQuery<Row>>> = {};
  return (store, parameter) => store.first((built[store.engine] ??= build(store.db)), parameter, parse);
}

// The part of the store that prepared queries use.
interface Reader {
  readonly db: Db;
  readonly engine: Engine;
  first<Row, Result>(query: CompiledQuery<Row>, parameter: string, parse: (row: Row) => Result): Promise<Result | undefined>;
}

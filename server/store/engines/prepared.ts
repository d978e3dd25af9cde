import type { CompiledQuery } from "kysely";
import type { Engine } from "./engine.ts";
import type { Db } from "../schema.ts";

// Compiles a query with one parameter once, for what every request reads. See Store.first.
export function prepareFirst<Row>(build: (db: Db) => CompiledQuery<Row>): (store: Reader, parameter: string) => Promise<Row | undefined> {
  const built: Partial<Record<Engine, CompiledQuery<Row>>> = {};
  return (store, parameter) => store.first({ ...(built[store.engine] ??= build(store.db)), parameters: [parameter] });
}

// The part of the store that prepared queries use.
interface Reader {
  readonly db: Db;
  readonly engine: Engine;
  first<Row>(query: CompiledQuery<Row>): Promise<Row | undefined>;
}

import type { CompiledQuery } from "kysely";
import type { Engine, Store } from "../open.ts";
import type { Db } from "../schema.ts";

// The first row of a query with one parameter, which is put together once and not for each call. For what is asked with
// every request: it waits for no transaction and no lock (see Store.first).
export function prepareFirst<Row>(build: (db: Db) => CompiledQuery<Row>): (store: Store, parameter: string) => Promise<Row | undefined> {
  const built: Partial<Record<Engine, CompiledQuery<Row>>> = {};
  return (store, parameter) => store.first({ ...(built[store.engine] ??= build(store.db)), parameters: [parameter] });
}

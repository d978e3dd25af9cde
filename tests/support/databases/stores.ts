import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { silentLog } from "../../../server/log.ts";
import { openStore, type Engine, type Store, type StoreOptions } from "../../../server/store/open.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";

export interface Database {
  engine: Engine;
  // Opens another store over the same database, as another server does.
  open(options?: Partial<StoreOptions>): Promise<Store>;
  file: string;
  url: string | null;
}

export interface Databases {
  engine: Engine;
  // Creates an empty database.
  create(): Promise<Database>;
  // The running server; only on PostgreSQL, and only while tests run.
  postgres?: TestPostgres;
}

// Runs the tests of `suite` once on SQLite and once on a real PostgreSQL. A test for one engine alone is defined inside
// `if (databases.engine === "sqlite")`.
export function onBothEngines(name: string, suite: (databases: Databases) => void): void {
  describe(`${name} on SQLite`, () => {
    suite(temporaryDatabases("sqlite"));
  });
  describe(`${name} on PostgreSQL`, () => {
    suite(temporaryDatabases("postgres"));
  });
}

function temporaryDatabases(engine: Engine): Databases {
  let folder: string;
  let count = 0;
  const databases: Databases = {
    engine,
    async create() {
      const file = join(folder, `${++count}.db`);
      const url = (await databases.postgres?.createDatabase()) ?? null;
      return { engine, file, url, open: (options) => openStore({ url, file, log: silentLog, ...options }) };
    },
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "berth-stores-"));
    if (engine === "postgres") databases.postgres = await startPostgres();
  });
  afterAll(async () => {
    await databases.postgres?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  return databases;
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { silentLog } from "../../../server/log.ts";
import { openStore, type Engine, type Store, type StoreOptions } from "../../../server/store/open.ts";
import { writeMigratedDatabase } from "./migrated.ts";
import { sharedPostgres, type SharedPostgres } from "./postgres.ts";

export interface Database {
  engine: Engine;
  // Opens another store over the same database, as another server does.
  open(options?: Partial<StoreOptions>): Promise<Store>;
  file: string;
  url: string | null;
}

export interface Databases {
  // Creates a database with the current schema and no rows. It is a copy, because migrating every one takes most of the time of a test.
  create(): Promise<Database>;
  // Creates a database without a schema.
  createEmpty(): Promise<Database>;
  // The server; only on PostgreSQL, and only while tests run.
  postgres?: SharedPostgres;
}

type Suite = (databases: Databases) => void;

// Runs the tests of `suite` once on SQLite and once on a real PostgreSQL, followed by the tests for one engine alone.
export function onBothEngines(name: string, suite: Suite, { sqlite, postgres }: { sqlite?: Suite; postgres?: Suite } = {}): void {
  describe(`${name} on SQLite`, () => {
    const databases = temporaryDatabases("sqlite");
    suite(databases);
    sqlite?.(databases);
  });
  describe(`${name} on PostgreSQL`, () => {
    const databases = temporaryDatabases("postgres");
    suite(databases);
    postgres?.(databases);
  });
}

function temporaryDatabases(engine: Engine): Databases {
  let folder: string;
  let count = 0;
  const databaseAt = (url: string | null): Database => {
    const file = join(folder, `${++count}.db`);
    return { engine, file, url, open: (options) => openStore({ url, file, log: silentLog, ...options }) };
  };
  const databases: Databases = {
    async create() {
      if (databases.postgres) return databaseAt(await migratedCopy(databases.postgres));
      const database = databaseAt(null);
      await writeMigratedDatabase(database.file);
      return database;
    },
    createEmpty: async () => databaseAt((await databases.postgres?.createDatabase()) ?? null),
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "berth-stores-"));
    if (engine === "postgres") databases.postgres = await sharedPostgres();
  });
  afterAll(async () => {
    await databases.postgres?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  return databases;
}

async function migratedCopy(postgres: SharedPostgres): Promise<string> {
  const migrated = await postgres.template("migrated", async (url) => {
    await (await openStore({ url, file: "", log: silentLog }))[Symbol.asyncDispose]();
  });
  return postgres.createDatabase({ copyOf: migrated });
}

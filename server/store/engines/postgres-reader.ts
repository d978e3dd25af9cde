import { currentWork, markWork } from "../../event-loop/loop-work.ts";

// Reads single rows. Reads that begin in the same round of the event loop share one round trip, which costs more than the rest of a small
// request. The query is sent after the last of them has begun, so each sees everything that was committed before it: a cache could not
// promise that, because another server may have written.
export interface PostgresReader {
  // The first row of a query with one parameter, parsed. undefined if there is none.
  read<Result>(text: string, parameter: string, parse: (row: unknown) => Result): Promise<Result | undefined>;
}

export type RunQuery = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

// By the parameter. A row is parsed once, and one that cannot be parsed fails only its own readers.
type Found = Map<string, () => unknown>;

interface Round {
  parameters: Set<string>;
  found: Promise<Found>;
}

export function createPostgresReader(run: RunQuery): PostgresReader {
  const rounds = new Map<string, Round>();

  function begin(text: string, parse: (row: unknown) => unknown): Round {
    const parameters = new Set<string>();
    const ended = Promise.withResolvers<Found>();
    setImmediate(() => {
      rounds.delete(text);
      ended.resolve(readAll(text, [...parameters], parse));
    });
    const round = { parameters, found: ended.promise };
    rounds.set(text, round);
    return round;
  }

  async function readAll(text: string, parameters: string[], parse: (row: unknown) => unknown): Promise<Found> {
    const found: Found = new Map();
    const add = (parameter: string, row: unknown): void => {
      const parsed = once(() => parse(row));
      if (!found.has(parameter)) found.set(parameter, parsed);
    };
    const [only] = parameters;
    // The plain query is less work for the database.
    if (parameters.length === 1) for (const row of await run(text, [only])) add(only!, row);
    else for (const { [KEY]: key, ...row } of await run(forAll(text), [parameters])) add(key as string, row);
    return found;
  }

  return {
    async read<Result>(text: string, parameter: string, parse: (row: unknown) => Result) {
      // PostgreSQL refuses such a text and with it the whole query, and no row has one.
      if (parameter.includes("\0")) return undefined;
      const work = currentWork();
      const round = rounds.get(text) ?? begin(text, parse);
      round.parameters.add(parameter);
      const found = await round.found;
      markWork(work);
      return found.get(parameter)?.() as Result | undefined;
    },
  };
}

function once(make: () => unknown): () => unknown {
  let made: { value: unknown } | undefined;
  return () => (made ??= { value: make() }).value;
}

const KEY = "wanted_key";

// The query runs once for each element of the array that is now its parameter.
const forAll = (text: string): string =>
  `select wanted.key as ${KEY}, found.* from unnest($1::text[]) as wanted(key) cross join lateral (${text.replace("$1", "wanted.key")}) as found`;

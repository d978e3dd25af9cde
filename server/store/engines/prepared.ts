import { createQueryId, type Compilable, type CompiledQuery, type DialectAdapter } from "kysely";
import type { Engine } from "./engine.ts";
import type { Db } from "../schema.ts";
import { attributeQuery } from "./query-work.ts";

// Building and compiling a query takes longer than SQLite needs to run it. Queries that run with every create, exec or destroy, or
// every second, are therefore compiled once; all others are built where they are used.

// Compiles a query at its first use in a database. Later calls only bind their parameters. Returns the rows.
//
// `build` gets placeholders with the names of the parameters, so it must not look at their values. Whatever may change the text of the
// query is its shape, and each shape is compiled once: which parameters there are, and which of them are null or a boolean, because SQL
// compares those with "is". Parameters may be grouped in objects, such as the columns to write. A list is refused: its length would
// change the text.
export function prepare<Parameters extends object, Row>(
  build: (db: Db, parameters: Parameters) => Compilable<Row>,
): (db: Db, parameters: Parameters) => Promise<Row[]> {
  const compiled = new WeakMap<DialectAdapter, Map<string, CompiledQuery<Row>>>();

  function compile(db: Db, parameters: Parameters): CompiledQuery<Row> {
    const { adapter } = db.getExecutor();
    let shapes = compiled.get(adapter);
    if (!shapes) compiled.set(adapter, (shapes = new Map()));
    const shape = shapeOf(parameters);
    let query = shapes.get(shape);
    if (query) return query;
    query = build(db, placeholdersOf(parameters)).compile();
    if (shapes.size >= MAX_SHAPES) shapes.clear();
    shapes.set(shape, query);
    return query;
  }

  return async (db, parameters) => {
    const query = compile(db, parameters);
    const queryId = createQueryId();
    attributeQuery(queryId);
    const bound = query.parameters.map((value) => (value instanceof Placeholder ? value.read(parameters) : value));
    return (await db.executeQuery<Row>({ ...query, queryId, parameters: bound })).rows;
  };
}

// Bounds the memory.
const MAX_SHAPES = 200;

// Takes the place of a parameter while the query is built.
class Placeholder {
  readonly #path: readonly string[];

  constructor(path: readonly string[]) {
    this.#path = path;
  }

  read(parameters: object): unknown {
    return this.#path.reduce<unknown>((from, name) => (from as Record<string, unknown>)[name], parameters);
  }

  toJSON(): never {
    throw new Error(`A prepared query looks at the value of ${this.#path.join(".")}`);
  }

  [Symbol.toPrimitive](): never {
    return this.toJSON();
  }
}

function placeholdersOf<Parameters extends object>(parameters: Parameters, path: readonly string[] = []): Parameters {
  const placeholders = Object.entries(parameters).map(([name, value]) => {
    const here = [...path, name];
    if (isConstant(value)) return [name, value];
    return [name, isGroup(value) ? placeholdersOf(value, here) : new Placeholder(here)];
  });
  return Object.fromEntries(placeholders) as Parameters;
}

function shapeOf(parameters: object): string {
  let shape = "";
  for (const [name, value] of Object.entries(parameters)) {
    if (isConstant(value)) shape += `${name}=${value},`;
    else if (isGroup(value)) shape += `${name}{${shapeOf(value)}},`;
    else if (isValue(value)) shape += `${name},`;
    else throw new Error(`A prepared query cannot bind the parameter ${name}`);
  }
  return shape;
}

// Values that Kysely leaves out, or writes in another way than others.
const isConstant = (value: unknown) => value === undefined || value === null || typeof value === "boolean";

const isGroup = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

const isValue = (value: unknown) =>
  typeof value === "string" ||
  typeof value === "number" ||
  typeof value === "bigint" ||
  value instanceof Date ||
  value instanceof Uint8Array;

// Compiles a query with one parameter once, for rows that every request reads. See Store.first.
export function prepareFirst<Row, Result>(
  build: (db: Db) => CompiledQuery<Row>,
  parse: (row: Row) => Result,
): (store: Reader, parameter: string) => Found<Result> {
  const built: Partial<Record<Engine, CompiledQuery<Row>>> = {};
  return (store, parameter) => store.first((built[store.engine] ??= build(store.db)), parameter, parse);
}

// The part of the store that prepared queries use.
interface Reader {
  readonly db: Db;
  readonly engine: Engine;
  first<Row, Result>(query: CompiledQuery<Row>, parameter: string, parse: (row: Row) => Result): Found<Result>;
}

type Found<Result> = Result | undefined | Promise<Result | undefined>;

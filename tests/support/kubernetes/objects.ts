import { randomUUID } from "node:crypto";
import type { KubernetesObject } from "@kubernetes/client-node";

// The double's storage: objects with resource versions and generations, and the history that a watch replays. What it returns is
// frozen instead of copied, because the controllers read every object after every change.
export interface ApiObject extends KubernetesObject {
  metadata: NonNullable<KubernetesObject["metadata"]>;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

export interface Change {
  version: number;
  kind: string;
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: ApiObject;
}

export interface Objects {
  readonly version: number;
  get(kind: string, name: string): ApiObject | undefined;
  list(kind: string, selector?: string): ApiObject[];
  // Returns undefined if the name is taken.
  create(kind: string, object: ApiObject): ApiObject | undefined;
  merge(kind: string, name: string, patch: object): ApiObject;
  // For controllers: an update that can also remove fields.
  replace(kind: string, object: ApiObject): ApiObject;
  // For controllers: replaces the status if it differs.
  setStatus(kind: string, name: string, status: Record<string, unknown>): void;
  remove(kind: string, name: string): void;
  // The changes after `version`, or null if the history no longer holds them.
  since(version: number): Change[] | null;
  // Deletes the history, like etcd's compaction.
  compact(): void;
  onChange(listener: (change: Change) => void): Disposable;
}

export function createObjects(): Objects {
  const kinds = new Map<string, Map<string, ApiObject>>();
  const listeners = new Set<(change: Change) => void>();
  let history: Change[] = [];
  let version = 1000;
  let forgotten = 0;

  const of = (kind: string) => kinds.get(kind) ?? kinds.set(kind, new Map()).get(kind)!;

  function record(kind: string, type: Change["type"], given: ApiObject): ApiObject {
    version++;
    const object = deepFreeze({ ...given, metadata: Object.assign({}, given.metadata, { resourceVersion: String(version) }) });
    if (type === "DELETED") of(kind).delete(object.metadata.name!);
    else of(kind).set(object.metadata.name!, object);
    const change: Change = { version, kind, type, object };
    history.push(change);
    for (const listener of listeners) listener(change);
    return object;
  }

  function mustGet(kind: string, name: string): ApiObject {
    const object = of(kind).get(name);
    if (!object) throw new Error(`${kind} ${name} does not exist`);
    return object;
  }

  // Counts a generation if the specification has changed.
  function recordChange(kind: string, before: ApiObject, object: ApiObject): ApiObject {
    if (JSON.stringify(object.spec) === JSON.stringify(before.spec)) return record(kind, "MODIFIED", object);
    const generation = (before.metadata.generation ?? 0) + 1;
    return record(kind, "MODIFIED", { ...object, metadata: Object.assign({}, object.metadata, { generation }) });
  }

  return {
    get version() {
      return version;
    },
    get: (kind, name) => of(kind).get(name),
    list: (kind, selector) => [...of(kind).values()].filter((object) => matches(object, selector)),

    create(kind, given) {
      const object = structuredClone(given);
      const name = object.metadata.name ?? "";
      if (of(kind).has(name)) return undefined;
      Object.assign(object.metadata, { uid: randomUUID(), generation: 1, creationTimestamp: new Date() });
      return record(kind, "ADDED", object);
    },

    merge(kind, name, patch) {
      const object = mustGet(kind, name);
      return recordChange(kind, object, mergeInto(object, patch) as ApiObject);
    },

    replace: (kind, given) => recordChange(kind, mustGet(kind, given.metadata.name!), structuredClone(given)),

    setStatus(kind, name, status) {
      const object = of(kind).get(name);
      if (!object || JSON.stringify(object.status) === JSON.stringify(status)) return;
      record(kind, "MODIFIED", { ...object, status });
    },

    remove(kind, name) {
      const object = of(kind).get(name);
      if (object) record(kind, "DELETED", object);
    },

    since: (from) => (from < forgotten ? null : history.filter((change) => change.version > from)),
    compact() {
      forgotten = version;
      history = [];
    },
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

// The driver only uses selectors like `a=b,c=d`, and `a` for a label with any value.
export function matches(object: ApiObject, selector = ""): boolean {
  return selector
    .split(",")
    .filter(Boolean)
    .every((part) => {
      const [key = "", value] = part.split("=");
      const found = object.metadata.labels?.[key];
      return value === undefined ? found !== undefined : found === value;
    });
}

// The driver uses at most one field, like `a.b=c`.
export function hasField(object: ApiObject, selector = ""): boolean {
  const [path = "", wanted] = selector.split("=");
  const value = path.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);
  return selector === "" || value === wanted;
}

// Frozen parts of the object are already frozen all the way down.
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

// RFC 7386.
function mergeInto(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const base = typeof target === "object" && target !== null && !Array.isArray(target) ? { ...(target as Record<string, unknown>) } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete base[key];
    else base[key] = mergeInto(base[key], value);
  }
  return base;
}

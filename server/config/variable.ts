import type { Kind } from "./kinds.ts";

export interface Variable<T> {
  name: string;
  kind: Kind<T>;
  default: T;
  // Describes the default where its value alone does not.
  defaultHelp?: string;
  // For operators, in docs/configuration.md.
  help: string;
  // Another name that is read when `name` is not set.
  alias?: string;
  // Never printed. The value can also come from the file named by `{name}_FILE`, as container platforms mount secrets.
  secret?: true;
}

// Infers the type from the kind alone, so that a default of another type is a compile error.
export function variable<T>(entry: Omit<Variable<T>, "default"> & { default: NoInfer<T> }): Variable<T> {
  return entry;
}

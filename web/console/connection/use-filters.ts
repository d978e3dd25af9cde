import { replaceQuery, useLocation } from "./location.ts";

// The filters of a list. They are in the address, so that they can be shared and survive a reload. An empty text removes one.
export function useFilters<Name extends string>(names: readonly Name[]) {
  const { query } = useLocation();
  const filter = Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
  type Filter = Partial<Record<Name, string>>;
  return { filter: filter as Filter, change: (changed: Filter) => replaceQuery({ ...filter, ...changed }) };
}

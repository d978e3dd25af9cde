import { useSyncExternalStore } from "react";
import { CONSOLE_PATHS, type ViewerKind } from "@berth/contract/console.ts";
import { queryText, type Query } from "./api.ts";

// The address of the page: which console, which page of it, and the filters.
export interface PageLocation {
  kind: ViewerKind;
  // The parts of the path below the console's.
  path: string[];
  query: URLSearchParams;
}

const listeners = new Set<() => void>();
addEventListener("popstate", announce);

export function useLocation(): PageLocation {
  const href = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => location.pathname + location.search,
  );
  return parseLocation(href);
}

export function parseLocation(href: string): PageLocation {
  const url = new URL(href, "http://console");
  const kind = /^\/console\/partner(\/|$)/.test(url.pathname) ? "partner" : "operator";
  const rest = url.pathname.slice(CONSOLE_PATHS[kind].length);
  return { kind, path: rest.split("/").filter(Boolean).map(decodeURIComponent), query: url.searchParams };
}

export const hrefOf = (kind: ViewerKind, path: readonly string[], query: Query = {}): string =>
  [CONSOLE_PATHS[kind], ...path.map(encodeURIComponent)].join("/") + queryText(query);

export function navigate(href: string): void {
  history.pushState(null, "", href);
  announce();
}

// Used by filters, which change with every typed letter.
export function replaceQuery(query: Query): void {
  history.replaceState(null, "", location.pathname + queryText(query));
  announce();
}

function announce(): void {
  for (const listener of listeners) listener();
}

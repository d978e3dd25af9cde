// Maps the rest of a gateway path to a path of the daemon's API; null if callers may not use it. File paths travel in the
// query, so API paths consist of plain words. A path that could be read in two ways (dots, encoded slashes, empty segments)
// is refused rather than normalized.
export function toDaemonPath(rest: string, query: string): string | null {
  if (!PLAIN_SEGMENTS.test(rest)) return null;
  const [, first = "", ...deeper] = rest.toLowerCase().split("/");
  if (rest.split("/").some((segment) => segment === "." || segment === "..")) return null;
  // `/internal` is for the server only, and ports are reachable only through their preview origins.
  if (first === "internal" || (first === "ports" && deeper.length > 0)) return null;
  return query === "" ? rest : `${rest}?${query}`;
}

const PLAIN_SEGMENTS = /^(\/[A-Za-z0-9._~-]+)+$/;

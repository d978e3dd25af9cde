// Which paths of the daemon the outside may ask for, given what stands behind the mount. Paths of files travel in the
// query, so a path of the daemon's API is made of plain words: anything that could be read in two ways (dots, encoded
// slashes, empty segments) is refused instead of cleaned up. null: not for the outside.
export function toDaemonPath(rest: string, query: string): string | null {
  if (!PLAIN.test(rest)) return null;
  const [, first = "", ...deeper] = rest.toLowerCase().split("/");
  if (rest.split("/").some((segment) => segment === "." || segment === "..")) return null;
  // The server's own, and the preview's, which has an origin of its own.
  if (first === "internal" || (first === "ports" && deeper.length > 0)) return null;
  return query === "" ? rest : `${rest}?${query}`;
}

const PLAIN = /^(\/[A-Za-z0-9._~-]+)+$/;

import { isHarmlessPath } from "./harmless-path.ts";

// The paths of an egress rule. A pattern is a path, or the beginning of one with `*` at its end.

// Without escapes, because a path is compared as it is sent.
export const isPathPattern = (pattern: string): boolean =>
  /^(?!.*\/\/)\/[a-z0-9._~!$&'()+,;=:@/-]*\*?$/i.test(pattern) && isHarmlessPath(pattern.replace(/\*$/, ""));

// The path of a request, whose dot segments are resolved. Behind an allowed beginning, some servers would find another path than others.
export const matchesPath = (pattern: string, path: string): boolean =>
  isHarmlessPath(path) && (pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern);

// Whether every path of the inner pattern is one of the outer pattern.
export const coversPath = (outer: string, inner: string): boolean =>
  outer.endsWith("*") ? inner.replace(/\*$/, "").startsWith(outer.slice(0, -1)) : outer === inner;

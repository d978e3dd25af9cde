// Whether a path fits a pattern in which `:name` and `{name}` match one segment. No imports: the browser loads this file too.
export function fitsPattern(pattern: string, path: string): boolean {
  const parts = pattern.split("/");
  const segments = path.split("/");
  return parts.length === segments.length && parts.every((part, index) => /^[:{]/.test(part) || part === segments[index]);
}

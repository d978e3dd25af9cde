// A git identity, as in "Ada Lovelace <ada@example.com>".
export const IDENTITY = /^\s*(.+?)\s*<(\S+@\S+)>\s*$/;

// Begins an identity with the name under which the partner has opened the workspace for the person. That may also be an email address.
export function suggestIdentity(displayName: string | null | undefined): string {
  const name = displayName?.trim() ?? "";
  if (name === "" || IDENTITY.test(name)) return name;
  const [, beforeAt] = /^([^\s@<>]+)@[^\s<>]+$/.exec(name) ?? [];
  return beforeAt === undefined ? `${name.replaceAll(/[<>]/g, "")} <>` : `${beforeAt} <${name}>`;
}

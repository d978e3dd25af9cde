// `*` matches a part of a name, `**` any number of folders, and `**/` also none.
export function pathPattern(glob: string): RegExp {
  const source = glob
    .replace(/^(\.\/)+/, "")
    .split(/(\*\*\/|\*\*|\*)/)
    .map((part) => (part === "**/" ? "(?:.*/)?" : part === "**" ? ".*" : part === "*" ? "[^/]*" : escape(part)));
  return new RegExp(`^${source.join("")}$`, "s");
}

// The characters with which a shell begins another command, redirects one or replaces a part of it.
const OTHER_COMMAND = "[^;&|<>$()`\\\\\\n\\r\\0]*";
const ANYTHING = "[\\s\\S]*";

// `npm test*` in a rule that allows must not match `npm test; rm -rf ~`. One that denies matches as much as possible.
export function commandPattern(glob: string, { allow }: { allow: boolean }): RegExp {
  const source = glob.split(/\*+/).map((part) => escape(part));
  return new RegExp(`^${source.join(allow ? OTHER_COMMAND : ANYTHING)}$`);
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);

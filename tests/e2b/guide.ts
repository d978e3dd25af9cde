import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const GUIDE = join(import.meta.dirname, "../../docs/e2b.md");

// Replaces the section of docs/e2b.md between `<!-- {name} -->` and `<!-- end of {name} -->`.
export function writeSection(name: string, text: string): void {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const guide = readFileSync(GUIDE, "utf8");
  const [from, to] = [guide.indexOf(begin), guide.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${GUIDE} has no place for the ${name}`);
  writeFileSync(GUIDE, `${guide.slice(0, from + begin.length)}\n\n${text}\n\n${guide.slice(to)}`);
}

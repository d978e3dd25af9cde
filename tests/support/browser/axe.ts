import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// The serious and critical violations that axe finds. The terminal's rows are excluded, because programs choose their colours.
// `part` is the selector of the only part that it looks at.
export async function seriousFaults(page: Page, part = "html"): Promise<string[]> {
  await page.evaluate(source);
  const results = await page.evaluate<AxeResults>(`axe.run({ include: ['${part}'], exclude: ['.xterm', 'iframe'] })`);
  const serious = results.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
}

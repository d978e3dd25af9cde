import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// The serious and critical violations that axe finds. The terminal's rows are excluded, because programs choose their colours.
// `part` is the selector of the only part that it looks at.
export const seriousFaults = (page: Page, part = "html"): Promise<string[]> => runAxe(page, part, `{ rules: ${HARMLESS_OFF} }`);

// The same for the contrast of colours alone, which is what differs between the light and the dark theme.
export const contrastFaults = (page: Page, part = "html"): Promise<string[]> => runAxe(page, part, '{ runOnly: ["color-contrast"] }');

// Runs in the page: switches off the rules whose violations are never serious.
const HARMLESS_OFF = `Object.fromEntries(axe._audit.rules
  .filter(({ impact }) => impact === "minor" || impact === "moderate")
  .map(({ id }) => [id, { enabled: false }]))`;

async function runAxe(page: Page, part: string, options: string): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(source);
  const context = { include: [part], exclude: [".xterm", "iframe"] };
  // The page returns only the faults: all results of axe are megabytes. Preloading would read all style sheets again, for rules that
  // do not run.
  return page.evaluate<string[]>(`axe
    .run(${JSON.stringify(context)}, { resultTypes: ["violations"], preload: false, ...${options} })
    .then(({ violations }) => violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html.slice(0, 120)).join(" | ")))`);
}

import type { ReadRow, ReadSection } from "./report.ts";
import { formatNumber } from "./table.ts";

const WIDTH = 760;
const LABELS = 270;
const RIGHT = 64;
const LINE = 20;
const STYLE = `text{font:12px system-ui,sans-serif;fill:#57606a}.h{font-weight:600}.g{stroke:#8c959f55}.r{stroke:#4c8dd6;stroke-width:4}.m{fill:#1f5fa8}`;

// An SVG with one line for each row: a dot at p50, and a bar from there to p99, on a logarithmic axis for each section and unit. It
// is readable on light and dark pages.
export function drawPlot(sections: readonly ReadSection[]): string {
  const panels = sections.flatMap(({ title, rows: all }) => {
    const rows = all.filter(({ p50, p99 }) => p50 > 0 && Number.isFinite(p99));
    const units = [...new Set(rows.map(({ unit }) => unit))];
    return units.map((unit) => ({ title: `${title} (${unit})`, rows: rows.filter((row) => row.unit === unit) }));
  });
  let y = 8;
  const parts: string[] = [];
  for (const panel of panels) {
    parts.push(drawPanel(panel.title, panel.rows, y));
    y += (panel.rows.length + 2) * LINE + 14;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}"><style>${STYLE}</style>${parts.join("")}</svg>\n`;
}

function drawPanel(title: string, rows: readonly ReadRow[], top: number): string {
  const exponents = rows.flatMap(({ p50, p99 }) => [Math.log10(p50), Math.log10(p99)]);
  const [from, to] = [
    Math.floor(Math.min(...exponents)),
    Math.max(Math.floor(Math.min(...exponents)) + 1, Math.ceil(Math.max(...exponents))),
  ];
  const x = (value: number) => Math.round(LABELS + ((Math.log10(value) - from) / (to - from)) * (WIDTH - LABELS - RIGHT));
  const bottom = top + (rows.length + 1) * LINE;
  const ticks = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i)).map(
    (value) =>
      `<path class="g" d="M${x(value)} ${top + LINE}V${bottom}"/><text x="${x(value)}" y="${bottom + 14}" text-anchor="middle">${formatNumber(value)}</text>`,
  );
  const lines = rows.map((row, i) => {
    const middle = top + (i + 1.5) * LINE;
    const label = `<text x="${LABELS - 10}" y="${middle + 4}" text-anchor="end">${escape(row.what)}</text>`;
    const bar = `<path class="r" d="M${x(row.p50)} ${middle}H${x(row.p99)}"/><circle class="m" cx="${x(row.p50)}" cy="${middle}" r="4"/>`;
    return `${label}${bar}<text x="${x(row.p99) + 8}" y="${middle + 4}">${formatNumber(row.p50)}</text>`;
  });
  return `<text class="h" x="0" y="${top + 12}">${escape(title)}</text>${ticks.join("")}${lines.join("")}`;
}

const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

// node scripts/draw-parts.ts: writes docs/images/parts.svg, the picture of who imports whom in ARCHITECTURE.md.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { partOf, readImportGraph } from "./import-graph.ts";

const BOX = { width: 148, height: 34, gapX: 22, gapY: 62 };
const MARGIN = 24;
const FONT = "system-ui, sans-serif";

export const PARTS_PICTURE = "docs/images/parts.svg";

/** Draws the parts in layers: every arrow points down, to a part that the upper one imports. */
export function drawParts(root: string): string {
  const edges = withoutShortcuts(readParts(root));
  const layers = orderLayers(layersOf(edges), edges);
  const widest = Math.max(...layers.map((layer) => layer.length));
  const width = widest * (BOX.width + BOX.gapX) - BOX.gapX + 2 * MARGIN;
  const height = layers.length * (BOX.height + BOX.gapY) - BOX.gapY + 2 * MARGIN;
  const at = new Map(
    layers.flatMap((layer, row) =>
      layer.map((part, column) => {
        const free = width - 2 * MARGIN - (layer.length * (BOX.width + BOX.gapX) - BOX.gapX);
        return [part, { x: MARGIN + free / 2 + column * (BOX.width + BOX.gapX), y: MARGIN + row * (BOX.height + BOX.gapY) }] as const;
      }),
    ),
  );
  const arrows = [...edges].flatMap(([from, targets]) => [...targets].map((to) => drawArrow(at.get(from)!, at.get(to)!)));
  const boxes = [...at].map(([part, place]) => drawBox(part, place));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The parts of Berth and which of them import each other">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#64748b"/></marker></defs>
<rect width="100%" height="100%" fill="#ffffff"/>
${[...arrows, ...boxes].join("\n")}
</svg>
`;
}

function readParts(root: string): Map<string, Set<string>> {
  const { imports } = readImportGraph(root);
  const parts = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    if (file === "server/main.ts") continue;
    const from = partOf(file);
    const to = parts.get(from) ?? new Set();
    parts.set(from, to);
    for (const target of targets) if (partOf(target) !== from) to.add(partOf(target));
  }
  return parts;
}

// An arrow that a longer path implies only adds clutter: a -> c goes where a -> b -> c exists.
function withoutShortcuts(edges: Map<string, Set<string>>): Map<string, Set<string>> {
  const reach = (from: string, found = new Set<string>()): Set<string> => {
    for (const to of edges.get(from) ?? []) if (!found.has(to)) reach(to, found.add(to));
    return found;
  };
  return new Map(
    [...edges].map(([from, targets]) => [
      from,
      new Set([...targets].filter((to) => ![...targets].some((other) => other !== to && reach(other).has(to)))),
    ]),
  );
}

function layersOf(edges: Map<string, Set<string>>): string[][] {
  const depth = new Map<string, number>();
  const measure = (part: string): number => {
    const known = depth.get(part);
    if (known !== undefined) return known;
    const own = 1 + Math.max(-1, ...[...(edges.get(part) ?? [])].map(measure));
    depth.set(part, own);
    return own;
  };
  for (const part of edges.keys()) measure(part);
  const layers: string[][] = [];
  for (const [part, own] of [...depth].toSorted(([a], [b]) => a.localeCompare(b))) (layers[own] ??= []).push(part);
  return layers.toReversed();
}

// Puts each part near the middle of what it is connected to, so that fewer arrows cross.
function orderLayers(layers: string[][], edges: Map<string, Set<string>>): string[][] {
  const linked = (a: string, b: string) => edges.get(a)?.has(b) || edges.get(b)?.has(a);
  let ordered = layers;
  for (let sweep = 0; sweep < 12; sweep++) {
    const place = new Map(ordered.flatMap((layer) => layer.map((part, index) => [part, (index + 0.5) / layer.length] as const)));
    const middle = (part: string) => {
      const places = [...place].filter(([other]) => linked(part, other)).map(([, x]) => x);
      return places.length === 0 ? place.get(part)! : places.reduce((sum, x) => sum + x, 0) / places.length;
    };
    ordered = ordered.map((layer) => layer.toSorted((a, b) => middle(a) - middle(b) || a.localeCompare(b)));
  }
  return ordered;
}

function drawArrow(from: { x: number; y: number }, to: { x: number; y: number }): string {
  const x1 = from.x + BOX.width / 2;
  const y1 = from.y + BOX.height;
  const x2 = to.x + BOX.width / 2;
  const y2 = to.y;
  const bend = (y2 - y1) / 2;
  return `<path d="M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}" fill="none" stroke="#94a3b8" stroke-width="1.2" marker-end="url(#tip)"/>`;
}

function drawBox(part: string, { x, y }: { x: number; y: number }): string {
  const fill = part.startsWith("server") ? "#e0f2fe" : "#f1f5f9";
  return `<g><rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6" fill="${fill}" stroke="#475569"/><text x="${x + BOX.width / 2}" y="${y + BOX.height / 2 + 5}" text-anchor="middle" font-family="${FONT}" font-size="14" fill="#0f172a">${part}</text></g>`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const root = join(import.meta.dirname, "..");
  writeFileSync(join(root, PARTS_PICTURE), drawParts(root));
}

// node scripts/structure/draw-parts.ts: writes docs/images/parts.svg, the picture of imports between parts in ARCHITECTURE.md.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { partImports, readImportGraph } from "./import-graph.ts";

const BOX = { width: 152, height: 34, gapX: 20, gapY: 46 };
const MARGIN = 24;
const FONT = "system-ui, sans-serif";

export const PARTS_PICTURE = "docs/images/parts.svg";

/** Draws the parts in layers: every arrow points down, to a part that the upper one imports. */
export function drawParts(root: string): string {
  const imports = withoutShortcuts(partImports(readImportGraph(root)));
  const { layers, links } = routeLongLinks(layersOf(imports), imports);
  const ordered = orderLayers(layers, links);
  const widthOf = (layer: string[]) => layer.reduce((sum, node) => sum + nodeWidth(node) + BOX.gapX, -BOX.gapX);
  const width = Math.max(...ordered.map(widthOf)) + 2 * MARGIN;
  const height = ordered.length * (BOX.height + BOX.gapY) - BOX.gapY + 2 * MARGIN;
  const places = new Map<string, Point>();
  for (const [row, layer] of ordered.entries()) {
    let x = (width - widthOf(layer)) / 2;
    for (const node of layer) {
      places.set(node, { x: x + nodeWidth(node) / 2, y: MARGIN + row * (BOX.height + BOX.gapY) });
      x += nodeWidth(node) + BOX.gapX;
    }
  }
  const lines = links.map(([from, to]) => drawLink(from, places.get(from)!, to, places.get(to)!));
  const boxes = [...places].filter(([node]) => !isBend(node)).map(([part, place]) => drawBox(part, place));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The parts of Berth and which of them import each other">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#64748b"/></marker></defs>
<rect width="100%" height="100%" fill="#ffffff"/>
${[...lines, ...boxes].join("\n")}
</svg>
`;
}

interface Point {
  x: number;
  y: number;
}

// A link that skips layers bends in each of them, so that it passes between the boxes and not behind them.
function routeLongLinks(layers: string[][], edges: Map<string, Set<string>>): { layers: string[][]; links: [string, string][] } {
  const rowOf = new Map(layers.flatMap((layer, row) => layer.map((part) => [part, row] as const)));
  const routed = layers.map((layer) => [...layer]);
  const links: [string, string][] = [];
  for (const [from, targets] of edges)
    for (const to of targets) {
      let last = from;
      for (let row = rowOf.get(from)! + 1; row < rowOf.get(to)!; row++) {
        const bend = `${BEND} ${from} ${to} ${row}`;
        routed[row]!.push(bend);
        links.push([last, bend]);
        last = bend;
      }
      links.push([last, to]);
    }
  return { layers: routed, links };
}

const BEND = "bend";
const isBend = (node: string) => node.startsWith(`${BEND} `);
const nodeWidth = (node: string) => (isBend(node) ? 4 : BOX.width);

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

// Puts each node near the middle of its neighbours, so that fewer lines cross.
function orderLayers(layers: string[][], links: [string, string][]): string[][] {
  const neighbours = new Map<string, string[]>();
  for (const [a, b] of links) {
    neighbours.set(a, [...(neighbours.get(a) ?? []), b]);
    neighbours.set(b, [...(neighbours.get(b) ?? []), a]);
  }
  let ordered = layers;
  for (let sweep = 0; sweep < 24; sweep++) {
    const place = new Map(ordered.flatMap((layer) => layer.map((node, index) => [node, (index + 0.5) / layer.length] as const)));
    const middle = (node: string) => {
      const places = (neighbours.get(node) ?? []).map((other) => place.get(other)!);
      return places.length === 0 ? place.get(node)! : places.reduce((sum, x) => sum + x, 0) / places.length;
    };
    ordered = ordered.map((layer) => layer.toSorted((a, b) => middle(a) - middle(b) || a.localeCompare(b)));
  }
  return ordered;
}

function drawLink(from: string, start: Point, to: string, end: Point): string {
  const startY = start.y + (isBend(from) ? BOX.height / 2 : BOX.height);
  const endY = end.y + (isBend(to) ? BOX.height / 2 : 0);
  const bend = (endY - startY) / 2;
  const tip = isBend(to) ? "" : ` marker-end="url(#tip)"`;
  return `<path d="M${start.x} ${startY}C${start.x} ${startY + bend} ${end.x} ${endY - bend} ${end.x} ${endY}" fill="none" stroke="#94a3b8" stroke-width="1.2"${tip}/>`;
}

function drawBox(part: string, { x, y }: Point): string {
  const fill = part.startsWith("server") ? "#e0f2fe" : "#f1f5f9";
  return `<g><rect x="${x - BOX.width / 2}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6" fill="${fill}" stroke="#475569"/><text x="${x}" y="${y + BOX.height / 2 + 5}" text-anchor="middle" font-family="${FONT}" font-size="14" fill="#0f172a">${part}</text></g>`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const root = join(import.meta.dirname, "../..");
  writeFileSync(join(root, PARTS_PICTURE), drawParts(root));
}

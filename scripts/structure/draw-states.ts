// node scripts/structure/draw-states.ts: writes docs/images/states.svg, the states of a session and what moves it between them, from the
// table in server/sessions/states/states.ts. draw-states.test.ts fails if the file is not current.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { STEPS, type Place } from "../../server/sessions/states/outcome.ts";
import { outcomeOf, RULES, type Trigger } from "../../server/sessions/states/states.ts";
import { SESSION_STATES, statusOf, type SessionState } from "../../server/store/sessions/session.ts";

export const STATES_PICTURE = "docs/images/states.svg";

interface Point {
  x: number;
  y: number;
}

interface Edge {
  from: SessionState;
  to: SessionState;
  triggers: Trigger[];
}

// The centre of each box. A new state has to be placed here before the picture can be drawn.
const POSITIONS: Record<SessionState, Point> = {
  warming: { x: 150, y: 120 },
  warm: { x: 400, y: 120 },
  discarding: { x: 150, y: 340 },
  creating: { x: 400, y: 340 },
  thawing: { x: 690, y: 110 },
  rebuilding: { x: 690, y: 430 },
  running: { x: 690, y: 270 },
  pausing: { x: 960, y: 110 },
  resuming: { x: 960, y: 430 },
  hibernating: { x: 1230, y: 110 },
  paused: { x: 1230, y: 270 },
  destroying: { x: 960, y: 620 },
  destroyed: { x: 1230, y: 620 },
};

const SIZE = { width: 1360, height: 740 };
const BOX = { width: 124, height: 40 };
const VISIBLE_FRAME = { left: 590, top: 60, right: 1330, bottom: 500 };
const FONT = "system-ui, sans-serif";
const COLORS = { running: "#dcfce7", paused: "#fef3c7", destroyed: "#e2e8f0", hidden: "#f1f5f9" };
// Where the straight middle of an arrow would cover something, its label is moved.
const LABEL_SHIFTS: Record<string, Point> = {
  "warm>discarding": { x: 28, y: -34 },
  "creating>destroying": { x: -60, y: 0 },
  "running>pausing": { x: 24, y: 20 },
  "pausing>running": { x: -24, y: -16 },
  "resuming>paused": { x: -22, y: 40 },
  "paused>resuming": { x: -24, y: -16 },
  "running>destroying": { x: -10, y: 40 },
  "paused>destroying": { x: 10, y: 40 },
};

export function drawStates(): string {
  const shared = SESSION_STATES.filter(isVisible).filter((state) => !["destroying", "destroyed"].includes(state));
  const toDestroying = triggersOfAll(shared, "destroying");
  const edges = readEdges().map((edge) => ({
    ...edge,
    triggers:
      shared.includes(edge.from) && edge.to === "destroying" ? edge.triggers.filter((name) => !toDestroying.includes(name)) : edge.triggers,
  }));
  const arrows = edges.filter(({ triggers }) => triggers.length > 0).map((edge) => drawEdge(edge, edges));
  const { left, top, right, bottom } = VISIBLE_FRAME;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${SIZE.height}" width="${SIZE.width}" height="${SIZE.height}" role="img" aria-label="The states of a session and the triggers that move it">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#475569"/></marker></defs>
<rect width="100%" height="100%" fill="#ffffff"/>
<rect x="${left}" y="${top}" width="${right - left}" height="${bottom - top}" rx="12" fill="none" stroke="#94a3b8" stroke-dasharray="2 5"/>
${text({ x: left + 12, y: top - 10 }, "what a partner sees", { size: 13, color: "#64748b", anchor: "start" })}
${arrow({ x: POSITIONS.destroying.x, y: bottom }, { x: POSITIONS.destroying.x, y: POSITIONS.destroying.y - BOX.height / 2 })}
${label({ x: POSITIONS.destroying.x, y: bottom + 46 }, toDestroying)}
${arrows.join("\n")}
${drawBirths()}
${drawDeaths()}
${SESSION_STATES.map(drawState).join("\n")}
${drawLegend()}
</svg>
`;
}

// Taking over an abandoned step leads to the same state, so it is not an arrow.
function readEdges(): Edge[] {
  const edges = new Map<string, Edge>();
  for (const trigger of Object.keys(RULES) as Trigger[])
    for (const from of SESSION_STATES) {
      const to = targetOf(trigger, from);
      if (to === null || to === "absent" || to === from) continue;
      const edge = edges.get(`${from}>${to}`) ?? { from, to, triggers: [] };
      edge.triggers.push(trigger);
      edges.set(`${from}>${to}`, edge);
    }
  return [...edges.values()];
}

function targetOf(trigger: Trigger, place: Place): Place | null {
  const outcome = outcomeOf(trigger, place);
  if (outcome.do === "enter") return outcome.step;
  if (outcome.do === "move") return outcome.to;
  return outcome.do === "delete" ? "absent" : null;
}

const triggersOfAll = (states: SessionState[], to: SessionState): Trigger[] =>
  (Object.keys(RULES) as Trigger[]).filter((trigger) => states.every((state) => targetOf(trigger, state) === to));

const isVisible = (state: SessionState): boolean => statusOf({ state }) !== null;

function drawEdge({ from, to, triggers }: Edge, edges: Edge[]): string {
  const isTwoWay = edges.some((edge) => edge.from === to && edge.to === from && edge.triggers.length > 0);
  const [start, end] = [POSITIONS[from], POSITIONS[to]];
  const length = Math.hypot(end.x - start.x, end.y - start.y);
  // Two arrows between the same boxes run side by side.
  const aside = isTwoWay ? 22 : 0;
  const shift = { x: (-(end.y - start.y) / length) * aside, y: ((end.x - start.x) / length) * aside };
  const [a, b] = [add(start, shift), add(end, shift)];
  const [tail, tip] = [border(start, a, b), border(end, b, a)];
  const middle = add({ x: (tail.x + tip.x) / 2, y: (tail.y + tip.y) / 2 }, LABEL_SHIFTS[`${from}>${to}`] ?? { x: shift.x, y: shift.y / 2 });
  return `${arrow(tail, tip)}\n${label(middle, triggers)}`;
}

// Where the line from `inside` towards `outside` leaves the box around `centre`.
function border(centre: Point, inside: Point, outside: Point): Point {
  const [dx, dy] = [outside.x - inside.x, outside.y - inside.y];
  const reach = (delta: number, position: number, half: number) => (delta === 0 ? Infinity : (Math.sign(delta) * half - position) / delta);
  const t = Math.min(reach(dx, inside.x - centre.x, BOX.width / 2 + 2), reach(dy, inside.y - centre.y, BOX.height / 2 + 2));
  return { x: inside.x + dx * t, y: inside.y + dy * t };
}

// A row that is inserted comes from a dot, and a row that is deleted goes to a ring.
function drawBirths(): string {
  const born = (Object.keys(RULES) as Trigger[]).flatMap((trigger) => {
    const to = targetOf(trigger, "absent");
    return to === null || to === "absent" ? [] : [{ trigger, to }];
  });
  return born
    .map(({ trigger, to }) => {
      const { x, y } = POSITIONS[to];
      const isAbove = y < 200;
      const dot = { x, y: isAbove ? y - 70 : y + 80 };
      const tip = { x, y: isAbove ? y - BOX.height / 2 - 2 : y + BOX.height / 2 + 2 };
      return `<circle cx="${dot.x}" cy="${dot.y}" r="6" fill="#0f172a"/>\n${arrow(dot, tip)}\n${label({ x, y: (dot.y + tip.y) / 2 }, [trigger])}`;
    })
    .join("\n");
}

function drawDeaths(): string {
  return SESSION_STATES.flatMap((state) => {
    const triggers = (Object.keys(RULES) as Trigger[]).filter((trigger) => targetOf(trigger, state) === "absent");
    if (triggers.length === 0) return [];
    const { x, y } = POSITIONS[state];
    const ring = { x, y: y + 90 };
    return `${arrow({ x, y: y + BOX.height / 2 + 2 }, { x, y: ring.y - 8 })}\n${label({ x, y: y + 52 }, triggers)}\n<circle cx="${x}" cy="${ring.y}" r="7" fill="#ffffff" stroke="#0f172a" stroke-width="1.5"/><circle cx="${x}" cy="${ring.y}" r="3.5" fill="#0f172a"/>`;
  }).join("\n");
}

function drawState(state: SessionState): string {
  const { x, y } = POSITIONS[state];
  const isStep = STEPS.some((step) => step === state);
  const status = state === "destroying" ? "destroyed" : (statusOf({ state }) ?? "hidden");
  const outline = isStep ? `stroke="#475569" stroke-width="1.2" stroke-dasharray="5 3"` : `stroke="#0f172a" stroke-width="2"`;
  const box = `<rect x="${x - BOX.width / 2}" y="${y - BOX.height / 2}" width="${BOX.width}" height="${BOX.height}" rx="8" fill="${COLORS[status]}" ${outline}/>`;
  return `<g>${box}${text({ x, y: y + 5 }, state, { size: 15, color: "#0f172a" })}</g>`;
}

function drawLegend(): string {
  const lines = [
    "An arrow from the dotted frame starts in every state inside it.",
    "Solid outline: the state lasts. Dashed outline: a step, in which one server holds a lease.",
    "If a lease expires (abandoned), another server takes the step over, or undoes it if it was a create.",
    "Green: shown as running. Yellow: shown as paused. Grey: not shown, or destroyed.",
  ];
  return lines.map((line, index) => text({ x: 40, y: 630 + index * 22 }, line, { size: 13, color: "#475569", anchor: "start" })).join("\n");
}

const arrow = (from: Point, to: Point) =>
  `<path d="M${round(from.x)} ${round(from.y)}L${round(to.x)} ${round(to.y)}" fill="none" stroke="#475569" stroke-width="1.2" marker-end="url(#tip)"/>`;

// One trigger per line, on white, so that an arrow below does not run through the words.
function label({ x, y }: Point, lines: readonly string[]): string {
  const top = y - ((lines.length - 1) * 15) / 2 + 4;
  return lines.map((line, index) => text({ x, y: top + index * 15 }, line, { size: 12, color: "#1e3a8a", halo: true })).join("\n");
}

interface TextStyle {
  size: number;
  color: string;
  anchor?: "start" | "middle";
  halo?: boolean;
}

function text({ x, y }: Point, words: string, { size, color, anchor = "middle", halo = false }: TextStyle): string {
  const outline = halo ? ` stroke="#ffffff" stroke-width="5" stroke-linejoin="round" paint-order="stroke"` : "";
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" font-family="${FONT}" font-size="${size}" fill="${color}"${outline}>${words}</text>`;
}

const add = (a: Point, b: Point): Point => ({ x: a.x + b.x, y: a.y + b.y });
const round = (value: number) => Math.round(value * 10) / 10;

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  writeFileSync(join(import.meta.dirname, "../..", STATES_PICTURE), drawStates());

// Lines of the text before, and the lines of the text after that replace them. Each range ends before its second number.
export interface Range {
  before: [from: number, to: number];
  after: [from: number, to: number];
}

// More differences between two anchors become one coarse range, so that the work is bounded.
const MAX_EDITS = 400;

// The ranges in which two texts differ, in order. Lines that occur once in both texts are anchors (patience diff); between them
// the shortest edit is searched (Myers).
export function diffLines(before: readonly string[], after: readonly string[]): Range[] {
  const ranges: Range[] = [];
  let from: [number, number] = [0, 0];
  for (const anchor of [...anchorsOf(before, after), [before.length, after.length] as const]) {
    ranges.push(...diffBetween(before, after, from, anchor));
    from = [anchor[0] + 1, anchor[1] + 1];
  }
  return joinAdjacent(ranges);
}

type Place = readonly [before: number, after: number];

function diffBetween(before: readonly string[], after: readonly string[], [fromB, fromA]: Place, [endB, endA]: Place): Range[] {
  let [b, a, toB, toA] = [fromB, fromA, endB, endA];
  while (b < toB && a < toA && before[b] === after[a]) [b, a] = [b + 1, a + 1];
  while (b < toB && a < toA && before[toB - 1] === after[toA - 1]) [toB, toA] = [toB - 1, toA - 1];
  if (b === toB && a === toA) return [];
  if (b === toB || a === toA) return [{ before: [b, toB], after: [a, toA] }];
  const steps = shortestEdit(before.slice(b, toB), after.slice(a, toA));
  if (steps === null) return [{ before: [b, toB], after: [a, toA] }];
  const ranges: Range[] = [];
  for (const step of steps) {
    if (step === "same") [b, a] = [b + 1, a + 1];
    else if (step === "removed") ranges.push({ before: [b, ++b], after: [a, a] });
    else ranges.push({ before: [b, b], after: [a, ++a] });
  }
  return ranges;
}

// The longest common sequence of lines that are unique in both texts.
function anchorsOf(before: readonly string[], after: readonly string[]): Place[] {
  const [inBefore, inAfter] = [uniqueLines(before), uniqueLines(after)];
  const common: Place[] = [];
  for (const [line, b] of inBefore) {
    const a = b < 0 ? undefined : inAfter.get(line);
    if (a !== undefined && a >= 0) common.push([b, a]);
  }
  // Patience sorting: each pile has the smallest last place of an increasing sequence of its length.
  const piles: number[] = [];
  const previous: number[] = [];
  for (const [index, [, a]] of common.entries()) {
    let [low, high] = [0, piles.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (common[piles[middle]!]![1] < a) low = middle + 1;
      else high = middle;
    }
    previous[index] = low === 0 ? -1 : piles[low - 1]!;
    piles[low] = index;
  }
  const anchors: Place[] = [];
  for (let index = piles.at(-1) ?? -1; index >= 0; index = previous[index]!) anchors.push(common[index]!);
  return anchors.toReversed();
}

// The place of each line, or -1 if it occurs more than once.
function uniqueLines(lines: readonly string[]): Map<string, number> {
  const places = new Map<string, number>();
  for (const [index, line] of lines.entries()) places.set(line, places.has(line) ? -1 : index);
  return places;
}

type Step = "same" | "removed" | "added";

// null if it needs too many edits.
function shortestEdit(before: readonly string[], after: readonly string[]): Step[] | null {
  const max = Math.min(before.length + after.length, MAX_EDITS);
  const furthest = new Map<number, number>([[1, 0]]);
  const history: Map<number, number>[] = [];
  for (let edits = 0; edits <= max; edits++) {
    history.push(new Map(furthest));
    for (let k = -edits; k <= edits; k += 2) {
      let b = isDown(furthest, k, edits) ? furthest.get(k + 1)! : furthest.get(k - 1)! + 1;
      while (b < before.length && b - k < after.length && before[b] === after[b - k]) b++;
      furthest.set(k, b);
      if (b >= before.length && b - k >= after.length) return stepsOf(history, before.length, after.length);
    }
  }
  return null;
}

const isDown = (furthest: Map<number, number>, k: number, edits: number): boolean =>
  k === -edits || (k !== edits && furthest.get(k - 1)! < furthest.get(k + 1)!);

function stepsOf(history: Map<number, number>[], endB: number, endA: number): Step[] {
  const steps: Step[] = [];
  let [b, a] = [endB, endA];
  for (let edits = history.length - 1; edits >= 0; edits--) {
    const furthest = history[edits]!;
    const k = b - a;
    const down = isDown(furthest, k, edits);
    const fromB = furthest.get(down ? k + 1 : k - 1)!;
    const fromA = fromB - (down ? k + 1 : k - 1);
    while (b > fromB && a > fromA && b > 0 && a > 0) {
      steps.push("same");
      [b, a] = [b - 1, a - 1];
    }
    if (edits > 0) steps.push(down ? "added" : "removed");
    [b, a] = [fromB, fromA];
  }
  return steps.toReversed();
}

function joinAdjacent(ranges: Range[]): Range[] {
  const joined: Range[] = [];
  for (const range of ranges) {
    const last = joined.at(-1);
    if (last && last.before[1] === range.before[0] && last.after[1] === range.after[0]) {
      last.before[1] = range.before[1];
      last.after[1] = range.after[1];
    } else joined.push({ before: [...range.before], after: [...range.after] });
  }
  return joined;
}

import type { TextLocation } from "./cursor.ts";

// A place in a file that the person has been at.
export interface Place extends TextLocation {
  path: string;
}

// The places in their order, and the index of the present one.
export interface Places {
  all: Place[];
  at: number;
}

// Moving the cursor by fewer lines is no step, as in VS Code.
const NEAR_LINES = 10;
const MAX_PLACES = 50;

// The cursor has moved to a place, or a command has jumped there. Close to the present place it replaces that, and elsewhere it is a
// new step.
export function visit({ all, at }: Places, place: Place, how: "moved" | "jumped" = "moved"): Places {
  const present = all[at];
  const stepLines = how === "jumped" ? 1 : NEAR_LINES;
  if (present?.path === place.path && Math.abs(present.line - place.line) < stepLines) return { all: all.with(at, place), at };
  const kept = [...all.slice(0, at + 1), place].slice(-MAX_PLACES);
  return { all: kept, at: kept.length - 1 };
}

// Goes back or forward; null if there is no such place. A tab without a text, such as an image, is no place: back from it is the
// place before it.
export function step({ all, at }: Places, by: 1 | -1, shownFile: string | null): Places | null {
  const next = by === -1 && all[at]?.path !== shownFile ? at : at + by;
  return next in all ? { all, at: next } : null;
}

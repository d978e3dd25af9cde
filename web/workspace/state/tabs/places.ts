import { isWithin, movedPath } from "../../text/paths.ts";
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

export const noPlaces: Places = { all: [], at: -1 };

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

// Goes back or forward. A tab without a text, such as an image, is no place: back from it is the place before it.
export function step({ all, at }: Places, by: 1 | -1, shownFile: string | null): Places {
  const next = by === -1 && all[at]?.path !== shownFile ? at : at + by;
  return { all, at: next in all ? next : at };
}

// The places that the person has been at, to go back to them and forward again.
export function createPlaces() {
  let visited = noPlaces;
  return {
    visit: (place: Place, how: "moved" | "jumped") => void (visited = visit(visited, place, how)),
    // The place to go to; null if there is none.
    step(by: 1 | -1, shownFile: string | null): Place | null {
      const before = visited;
      visited = step(before, by, shownFile);
      return visited.at === before.at && before.all[before.at]?.path === shownFile ? null : (visited.all[visited.at] ?? null);
    },
    renamePath(from: string, to: string) {
      const moved = (place: Place) => (isWithin(place.path, from) ? { ...place, path: movedPath(place.path, from, to) } : place);
      visited = { ...visited, all: visited.all.map(moved) };
    },
  };
}

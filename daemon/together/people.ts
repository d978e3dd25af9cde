import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { COLOURS, type Person, type Place } from "@berth/contract/together.ts";
import { MAX_DISPLAY_NAME_LENGTH, NAME_HEADER } from "@berth/contract/visitor.ts";
import { isViewer } from "../http/viewers.ts";

// The people who have the workspace open, once for every page.
export interface People {
  // The people in the order in which they came, at most MAX_LISTED.
  list(): Person[];
  join(request: IncomingMessage): Present;
}

export interface Present extends Disposable {
  id: string;
  isViewer: boolean;
  moveTo(place: Place | null): void;
}

const MAX_LISTED = 50;
// Every change of place is sent to everyone, so several are sent together.
const SEND_AFTER_MS = 50;

export function createPeople({ onChange }: { onChange: () => void }): People {
  const people = new Map<string, Person>();
  let sending: NodeJS.Timeout | null = null;

  function changed(): void {
    sending ??= setTimeout(() => {
      sending = null;
      onChange();
    }, SEND_AFTER_MS).unref();
  }

  function freeColour(): number {
    const used = [...people.values()].map(({ colour }) => colour);
    const counts = Array.from({ length: COLOURS }, (_value, colour) => used.filter((each) => each === colour).length);
    return counts.indexOf(Math.min(...counts));
  }

  return {
    list: () => [...people.values()].slice(0, MAX_LISTED),
    join(request) {
      const id = randomBytes(6).toString("hex");
      const role = isViewer(request) ? "viewer" : "editor";
      people.set(id, { id, name: nameOf(request), role, colour: freeColour(), place: null });
      changed();
      return {
        id,
        isViewer: role === "viewer",
        moveTo(place) {
          people.set(id, { ...people.get(id)!, place });
          changed();
        },
        [Symbol.dispose]() {
          people.delete(id);
          changed();
        },
      };
    },
  };
}

function nameOf({ headers }: IncomingMessage): string {
  const encoded = headers[NAME_HEADER];
  try {
    const name = decodeURIComponent(typeof encoded === "string" ? encoded : "");
    return Array.from(name).slice(0, MAX_DISPLAY_NAME_LENGTH).join("") || "Guest";
  } catch {
    return "Guest";
  }
}

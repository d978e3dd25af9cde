import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { COLOURS, type Person, type Place } from "@berth/contract/workspace/together.ts";
import { MAX_DISPLAY_NAME_LENGTH, NAME_HEADER } from "@berth/contract/workspace/visitor.ts";
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

export interface PeopleDeps {
  // People came or left.
  onChange: () => void;
  onMove: (people: Pick<Person, "id" | "place">[]) => void;
}

const MAX_LISTED = 50;
// Every change is sent to everyone, so several are sent together.
const SEND_AFTER_MS = 50;

export function createPeople({ onChange, onMove }: PeopleDeps): People {
  const people = new Map<string, Person>();
  const moved = new Set<string>();
  let isListChanged = false;
  let sending: NodeJS.Timeout | null = null;

  const listed = () => [...people.values()].slice(0, MAX_LISTED);

  function sendLater(): void {
    sending ??= setTimeout(() => {
      sending = null;
      if (isListChanged) onChange();
      else
        onMove(
          listed()
            .filter(({ id }) => moved.has(id))
            .map(({ id, place }) => ({ id, place })),
        );
      isListChanged = false;
      moved.clear();
    }, SEND_AFTER_MS).unref();
  }

  function listChanged(): void {
    isListChanged = true;
    sendLater();
  }

  function freeColour(): number {
    const used = [...people.values()].map(({ colour }) => colour);
    const counts = Array.from({ length: COLOURS }, (_value, colour) => used.filter((each) => each === colour).length);
    return counts.indexOf(Math.min(...counts));
  }

  return {
    list: listed,
    join(request) {
      const id = randomBytes(6).toString("hex");
      const role = isViewer(request) ? "viewer" : "editor";
      people.set(id, { id, name: nameOf(request), role, colour: freeColour(), place: null });
      listChanged();
      return {
        id,
        isViewer: role === "viewer",
        moveTo(place) {
          people.set(id, { ...people.get(id)!, place });
          moved.add(id);
          sendLater();
        },
        [Symbol.dispose]() {
          people.delete(id);
          listChanged();
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

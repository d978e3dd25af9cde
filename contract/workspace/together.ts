// WebSocket /together: the people who have the workspace open, where they are, and the texts that several of them have open. One JSON
// message per frame. Plain types: the browser loads this file too.
import type { Role } from "./visitor.ts";

export interface Person {
  id: string;
  // Untrusted text.
  name: string;
  role: Role;
  // From 0 to COLOURS - 1.
  colour: number;
  place: Place | null;
}

export interface Place {
  path: string;
  // Positions in the text, in characters. null without a text editor.
  selection: { anchor: number; head: number } | null;
}

export const COLOURS = 8;

// A text that is open in several pages is shared: the daemon puts all changes of it into one order, and every page follows. The first page
// with the text gives it to the daemon. Larger texts are not shared.
export const MAX_SHARED_CHARS = 250_000;
export const MAX_UPDATES_PER_PUSH = 200;

// A change of a text: CodeMirror's JSON of a ChangeSet. Its parts, in order, are a number of characters to keep, or a number of characters
// to delete with the lines to insert. A line break counts as one character.
export type ChangeJson = (number | [number, ...string[]])[];

export interface TextUpdate {
  // The page that made the change. It recognizes its own changes by this id.
  clientId: string;
  changes: ChangeJson;
}

export type TogetherFromClient =
  | { type: "place"; place: Place | null }
  // The page has this text open. `known`: the last version that it has of a text that was shared before.
  | { type: "open"; path: string; known?: { epoch: string; version: number } }
  | { type: "close"; path: string }
  // The answer to `give`: the text, with `\n` as the line break. null: it cannot be shared.
  | { type: "text"; path: string; text: string | null }
  // Accepted only if `version` is the latest one. Otherwise the page gets the updates that it lacks, and pushes again.
  | { type: "push"; path: string; epoch: string; version: number; updates: TextUpdate[] }
  // The page has found another version of the file on disk. The first page that asks turns it into a change of the shared text.
  | { type: "claim"; path: string; etag: string };

export type TogetherFromDaemon =
  // Sent when a page joins or leaves.
  | { type: "people"; you: string; people: Person[] }
  // Sent when people change their place, with only these people.
  | { type: "moved"; people: Pick<Person, "id" | "place">[] }
  | { type: "give"; path: string }
  // The text is shared. `text` is missing if the page has it already: it gave it, or `updates` are all that it lacks.
  | { type: "shared"; path: string; epoch: string; version: number; text?: string; updates?: TextUpdate[] }
  // `version` is the one before the updates.
  | { type: "updates"; path: string; epoch: string; version: number; updates: TextUpdate[] }
  | { type: "claimed"; path: string; etag: string }
  // The text is no longer shared.
  | { type: "unshared"; path: string };

import { createStore } from "zustand/vanilla";
import type { Person, Place } from "@berth/contract/workspace/together.ts";

export interface TogetherState {
  // Everyone who has the workspace open, in the order in which they came.
  people: Person[];
  // This page among them; null before the daemon has said so.
  you: string | null;
  // The person whose editor this page follows.
  following: string | null;
  // Where this page is.
  place: Place | null;
}

// The other people in the workspace. The code that talks to them loads after the first text is on the screen.
export function createTogether() {
  const store = createStore<TogetherState>(() => ({ people: [], you: null, following: null, place: null }));
  return {
    store,
    setPeople: (people: Person[], you: string | null) =>
      store.setState(({ following }) => ({
        people,
        you,
        following: people.some(({ id }) => id === following) ? following : null,
      })),
    movePeople: (moved: readonly Pick<Person, "id" | "place">[]) =>
      store.setState(({ people }) => ({
        people: people.map((person) => ({ ...person, ...moved.find(({ id }) => id === person.id) })),
      })),
    moveTo: (place: Place | null) => store.setState({ place }),
    follow: (following: string | null) => store.setState({ following }),
  };
}

const NOBODY: Person[] = [];

// Stable while nothing changes, so that components can select it.
export function othersIn({ people, you }: TogetherState): Person[] {
  return people.length < 2 ? NOBODY : people.filter(({ id }) => id !== you);
}

// The others at a file, as a text: colours for the marks and names for the title.
export const othersAt = (state: TogetherState, path: string | null): string =>
  path === null
    ? ""
    : othersIn(state)
        .filter(({ place }) => place?.path === path)
        .map(({ colour, name }) => `${colour} ${name}`)
        .join("\n");

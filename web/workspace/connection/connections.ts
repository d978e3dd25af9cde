export interface Line {
  // Tries again at once when it waits: a session was resumed, a network is back.
  prod(): void;
  // Begins anew even when it seems open.
  renew(): void;
}

export interface Lines extends Line {
  add(line: Line): Disposable;
}

// All open lines to the sandbox, to be woken together.
export function createLines(first: Line[]): Lines {
  const all = new Set(first);
  return {
    prod: () => all.forEach((line) => line.prod()),
    renew: () => all.forEach((line) => line.renew()),
    add(line) {
      all.add(line);
      return { [Symbol.dispose]: () => void all.delete(line) };
    },
  };
}

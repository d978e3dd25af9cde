// The changes that a person made to files, so that they can be undone, the last one first.
export interface FileChangeDone {
  // Such as "Deleted a.txt".
  text: string;
  undo: () => Promise<void>;
}

const MAX_KEPT = 50;

export function createFileHistory() {
  let done: FileChangeDone[] = [];
  let running: Promise<unknown> = Promise.resolve();
  return {
    // Runs a change, so that an undo waits for it instead of undoing the change before it.
    run<T>(change: () => Promise<T>): Promise<T> {
      const work = change();
      running = Promise.allSettled([running, work]);
      return work;
    },
    // Resolves when the changes that have been started are over.
    settled: async (): Promise<void> => void (await running),
    add(change: FileChangeDone) {
      done = [...done.slice(1 - MAX_KEPT), change];
    },
    last: (): FileChangeDone | undefined => done.at(-1),
    // Takes a change out of the history. False if it was undone already.
    take(change: FileChangeDone): boolean {
      const known = done.includes(change);
      done = done.filter((each) => each !== change);
      return known;
    },
  };
}

// The output of a build, for all sessions that follow it. A long log keeps its beginning and its end, which says why a build has failed.
export interface BuildLog {
  add(text: string): void;
  // The build has ended. Followers of a log that was too long get its end.
  end(): void;
  // The follower gets the log so far, and then each addition.
  follow(follower: (text: string) => void): Disposable;
}

const MAX_CHARS = 1024 * 1024;
const MAX_END_CHARS = 32 * 1024;

export function createBuildLog(): BuildLog {
  const followers = new Set<(text: string) => void>();
  let shown = "";
  let last = "";
  let leftOut = 0;

  function show(text: string): void {
    if (text === "") return;
    shown += text;
    for (const follower of followers) follower(text);
  }

  function cut(): void {
    leftOut += Math.max(0, last.length - MAX_END_CHARS);
    last = last.slice(-MAX_END_CHARS);
  }

  return {
    add(text) {
      const room = Math.max(0, MAX_CHARS - shown.length);
      show(text.slice(0, room));
      last += text.slice(room);
      // Only now and then, because it copies the text.
      if (last.length > 2 * MAX_END_CHARS) cut();
    },
    end() {
      cut();
      if (leftOut > 0) show(`\n[${Math.ceil(leftOut / 1024)} KiB of the log are left out]\n`);
      show(last);
      last = "";
      leftOut = 0;
    },
    follow(follower) {
      if (shown !== "") follower(shown);
      followers.add(follower);
      return { [Symbol.dispose]: () => void followers.delete(follower) };
    },
  };
}

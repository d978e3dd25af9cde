// The output of a build, for all sessions that follow it. The beginning and the end are kept, because the end says why a build has failed.
export interface BuildLog {
  add(text: string): void;
  // Nothing is added any more. Followers get the end of a log that was too long.
  end(): void;
  // The follower gets what is there, and what comes.
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
      // Not each time, because that copies all of it.
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

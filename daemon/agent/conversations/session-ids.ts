import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { readText } from "../../io/read-or-empty.ts";
import { replaceFile } from "../../io/replace-file.ts";

// The ids of the agent's sessions that conversations have had, also those of deleted conversations: most agents keep them, and list them
// beside the sessions that a person has started elsewhere.
export interface SessionIds {
  has(id: string): boolean;
  add(id: string): void;
}

const MAX_IDS = 2000;

export function openSessionIds(folder: string): SessionIds {
  const path = join(folder, "session-ids");
  const known = new Set(readText(path).split("\n").filter(Boolean).slice(-MAX_IDS));
  return {
    has: (id) => known.has(id),
    add(id) {
      if (known.has(id) || !/^[!-~]{1,200}$/.test(id)) return;
      known.add(id);
      const isFull = known.size > 2 * MAX_IDS;
      if (isFull) for (const old of [...known].slice(0, MAX_IDS)) known.delete(old);
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (isFull) replaceFile(path, [Buffer.from(`${[...known].join("\n")}\n`)], { sync: false });
        else appendFileSync(path, `${id}\n`, { mode: 0o600 });
      } catch (error) {
        // The disk may be full. The session is then listed as one of others.
        console.error("The id of an agent's session could not be saved:", error);
      }
    },
  };
}

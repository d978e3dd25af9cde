// A session as calls see it, and how calls change it one after the other.
export interface State {
  status: "running" | "paused" | "destroyed";
  autoResume: boolean;
  // The value that the call `patch autoResume` sets.
  otherAutoResume: boolean;
  timeoutMs: number;
  idleTimeoutMs: number | null;
  onTimeout: "pause" | "destroy";
  // The policy of its egress, as its sandbox has it.
  egress: "public" | "none";
  // The value of its only metadata.
  note: string;
  // Whether the snapshot that the round uses is there.
  snapshot: boolean;
  // The content of the file that the call `write` writes.
  file: string;
  // How often the command of the call `exec` ran.
  runs: number;
  // How WebSockets that were open ended: not at all, or with the reason that the session gives.
  sockets: "well";
}

// One indivisible part of a call. It has several outcomes where the contract leaves them open. An outcome with an answer ends the call.
export type Phase = (state: State) => Outcome[];
export interface Outcome {
  state: State;
  answer?: string;
}

// Every outcome of two calls that some order of their phases explains.
export function outcomesOf(state: State, first: readonly Phase[], second: readonly Phase[]): Explanation[] {
  return interleave({ state, left: [first, second], answers: ["", ""] });
}

export interface Explanation {
  state: State;
  answers: [string, string];
}

interface Progress extends Explanation {
  left: [readonly Phase[], readonly Phase[]];
}

function interleave({ state, left, answers }: Progress): Explanation[] {
  if (left[0].length + left[1].length === 0) return [{ state, answers }];
  return [0, 1].flatMap((call) => {
    const [phase, ...rest] = left[call]!;
    if (!phase) return [];
    return phase(state).flatMap((outcome) => {
      const isOver = outcome.answer !== undefined;
      return interleave({
        state: outcome.state,
        left: replace(left, call, isOver ? [] : rest),
        answers: isOver ? replace(answers, call, outcome.answer!) : answers,
      });
    });
  });
}

const replace = <Item>([first, second]: [Item, Item], index: number, item: Item): [Item, Item] =>
  index === 0 ? [item, second] : [first, item];

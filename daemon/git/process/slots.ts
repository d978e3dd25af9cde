import { AppError } from "@berth/contract/errors.ts";

export interface Slots {
  // Resolves when fewer than `count` others hold a slot. Disposing releases it.
  take(): Promise<Disposable>;
}

const MAX_WAITING = 64;

export function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const release = () => {
    const next = waiting.shift();
    if (next) next();
    else taken--;
  };
  return {
    async take() {
      if (taken < count) taken++;
      else if (waiting.length >= MAX_WAITING) throw new AppError("busy", { message: "Too many Git commands are waiting" });
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return { [Symbol.dispose]: release };
    },
  };
}

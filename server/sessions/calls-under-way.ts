// The calls of partners that are under way, except those that only end something, which wait a moment for the others (Capacity.giveWay).
export interface CallsUnderWay {
  readonly count: number;
  // Returns a function that counts the call's end.
  begin(): () => void;
}

export function createCallsUnderWay(): CallsUnderWay {
  let count = 0;
  const end = () => void count--;
  return {
    get count() {
      return count;
    },
    begin() {
      count++;
      return end;
    },
  };
}

// Calls of partners that are under way and end nothing. Those that end something wait for them, for a moment (Capacity.giveWay).
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

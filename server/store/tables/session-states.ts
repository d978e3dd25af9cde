// Every state of a session's row. sessions/states/states.ts says what moves a session from one to the next.
export const SESSION_STATES = [
  "warming",
  "warm",
  "creating",
  "discarding",
  "running",
  "pausing",
  "thawing",
  "rebuilding",
  "paused",
  "hibernating",
  "resuming",
  "destroying",
  "destroyed",
] as const;
export type SessionState = (typeof SESSION_STATES)[number];

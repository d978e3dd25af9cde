// The message of an error and those of its causes, for a log or an operator.
export const describeError = (error: unknown): string =>
  error instanceof Error ? `${error.message}${error.cause ? `: ${describeError(error.cause)}` : ""}` : String(error);

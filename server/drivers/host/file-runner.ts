import { mustRun, type RunOptions } from "./run.ts";

// Runs programs on the files of sandboxes, which belong to the sandboxes' users and not to the server's. Root may change them as they
// are; an ordinary user needs a user namespace for it (rootless/namespace-runner.ts).
export interface FileRunner {
  // Like `mustRun`.
  run(command: string, args: readonly string[], options?: RunOptions): Promise<string>;
  // The number that a user of the host has for these programs.
  idOf(hostId: number): number;
  // Whether the server itself may change these files as well, without a program.
  readonly direct: boolean;
}

export const plainRunner: FileRunner = { run: mustRun, idOf: (id) => id, direct: true };

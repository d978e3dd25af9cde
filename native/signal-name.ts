import { constants } from "node:os";

export const signalName = (wanted: number): NodeJS.Signals =>
  (Object.entries(constants.signals).find(([, signal]) => signal === wanted)?.[0] ?? String(wanted)) as NodeJS.Signals;

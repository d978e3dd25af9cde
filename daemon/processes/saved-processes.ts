import type { Process } from "@berth/contract/daemon/processes.ts";
import { openSavedRecords, type SavedRecords } from "../io/saved-records.ts";

// Processes on disk, so that a restarted sandbox can say of each that it is lost. Without the output.
export const openSavedProcesses = (folder: string): SavedRecords<Process> => openSavedRecords(folder, parse);

const PROCESS_ID = /^proc_[0-9a-f]{16}$/;

function parse(saved: Process): Process | null {
  const isValid =
    PROCESS_ID.test(saved.id) &&
    ["running", "exited", "lost"].includes(saved.status) &&
    typeof saved.startedAt === "string" &&
    Number.isSafeInteger(saved.outputBytes);
  return isValid ? saved : null;
}

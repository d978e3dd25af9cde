import { AppError, type FieldFault } from "@berth/contract";

export function requireNoFaults(faults: FieldFault[]): void {
  if (faults.length > 0) throw new AppError("validation_failed", { details: faults });
}

export const bodyFault = (message: string): AppError => new AppError("validation_failed", { details: [{ field: "body", message }] });

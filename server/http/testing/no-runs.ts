import { AppError } from "@berth/contract";
import type { Runs } from "../../sessions/runs/runs.ts";

const refuse = () => Promise.reject(new AppError("run_not_found"));

// For tests that are not about runs.
export const NO_RUNS: Runs = {
  create: refuse,
  createIn: refuse,
  deliver() {},
  get: refuse,
  list: async () => [],
  find: refuse,
  message: refuse,
  interrupt: refuse,
  answer: refuse,
};

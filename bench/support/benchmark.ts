import type { Section } from "../report/report.ts";
import type { Resources } from "./resources.ts";

export interface Benchmark {
  // One line that says which work is measured.
  summary: string;
  run(run: Run): Promise<Section[]>;
}

// One run of a benchmark.
export interface Run {
  isShort: boolean;
  resources: Resources;
  // Whether the user wants this part of the benchmark (--only).
  wants(part: string): boolean;
  // Whether the user has named this part, for parts that are left out otherwise.
  asksFor(part: string): boolean;
  // How often: the first number, in a short run the second, or what the user asked for (--rounds).
  rounds(full: number, short: number): number;
  // Whether the time that the user has given is over (--seconds). A round that has begun ends first.
  isOver(): boolean;
  // A section is complete. An interrupted run reports it.
  keep(section: Section): Section;
  // Shows the user the current work.
  progress(sentence: string): void;
  // A sentence for the report, such as why a comparison was skipped.
  remark(sentence: string): void;
}

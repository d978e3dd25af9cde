import { expect, vi } from "vitest";
import type { Journey, Outcome, Runner, Step } from "./journey.ts";

// Walks a journey with a client and checks every step of it. `facts` are values that steps name, such as `$receiver`.
export async function walk(runner: Runner, { steps }: Journey, facts: Record<string, unknown> = {}): Promise<void> {
  const kept: Record<string, unknown> = { ...facts };
  for (const step of steps) {
    const calls = [step, ...(step.together ?? [])].map((call) => ({
      ...call,
      ...(resolve({ args: call.args, options: call.options }) as object),
    }));
    const perform = async () => {
      const outcomes = await runner.run(calls);
      check(step, outcomes);
      calls.forEach(({ keep }, at) => keep && (kept[keep] = outcomes[at]!.value));
    };
    if (step.until) await vi.waitFor(perform, { timeout: 30_000, interval: 100 });
    else await perform();
  }

  function check(step: Step, outcomes: Outcome[]): void {
    // Failures show the call.
    const { call, args = [] } = step;
    if (step.throws) return expect({ call, args, error: outcomes[0]!.error }).toMatchObject({ call, error: step.throws });
    for (const { error } of outcomes) expect({ call, args, error }).toEqual({ call, args, error: undefined });
    const result = step.together ? outcomes.map(({ value }) => value) : outcomes[0]!.value;
    if ("gives" in step) expect({ call, args, result }).toMatchObject({ call, result: resolve(step.gives) });
    step.check?.(result, kept);
  }

  // Everything in which `$name.part` stands for what was kept. Runners find the objects themselves.
  function resolve(value: unknown): unknown {
    const [, name, rest] = typeof value === "string" ? (/^\$(\w+(?:\.\w+)*)([^]*)$/.exec(value) ?? []) : [];
    if (name !== undefined) {
      const found = name.split(".").reduce<unknown>((object, part) => (object as Record<string, unknown>)[part], kept);
      return rest === "" ? found : `${String(found)}${rest}`;
    }
    if (Array.isArray(value)) return value.map(resolve);
    if (!isPlain(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolve(part)]));
  }
}

// Matchers such as `expect.any(Number)` are not.
const isPlain = (value: unknown): value is object =>
  Array.isArray(value) || (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype);

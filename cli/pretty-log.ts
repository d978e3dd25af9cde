import { style } from "./style.ts";

// Log lines for a person at a terminal; elsewhere they stay JSON. Gets what the logger writes, a JSON line each.
export function prettyLog(output: { write(text: string): unknown }): { write(line: string): void } {
  return { write: (line) => void output.write(pretty(line)) };
}

const LEVELS: Record<number, (text: string) => string> = { 20: style.dim, 30: style.green, 40: style.yellow, 50: style.red };

function pretty(line: string): string {
  try {
    const { level, time, msg, ...fields } = JSON.parse(line) as { level: number; time: string; msg: string; [field: string]: unknown };
    const shown = Object.entries(fields).map(
      ([name, value]) => `${style.dim(`${name}=`)}${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    return `${style.dim(time.slice(11, 19))} ${(LEVELS[level] ?? style.dim)(msg)} ${shown.join(" ")}\n`;
  } catch {
    return line;
  }
}

import type { Output } from "@berth/server/log.ts";
import { escapeControls } from "./escape-controls.ts";
import { style } from "./style.ts";

// Formats the JSON lines of the logger for a person at a terminal. Values are escaped, because they are untrusted.
export function prettyLog(output: Output): Output {
  return {
    write: (line) => output.write(pretty(line)),
    flush: () => output.flush?.(),
    set onRecovery(report: (lines: number) => void) {
      output.onRecovery = report;
    },
  };
}

const LEVELS: Record<number, (text: string) => string> = { 20: style.dim, 30: style.green, 40: style.yellow, 50: style.red };

interface LogLine {
  level: number;
  time: string;
  msg: string;
  [field: string]: unknown;
}

function pretty(line: string): string {
  try {
    // The request's id is enough for a person.
    const { level, time, msg, traceId: _traceId, spanId: _spanId, ...fields } = JSON.parse(line) as LogLine;
    const shown = Object.entries(fields).map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return `${style.dim(`${escapeControls(name)}=`)}${escapeControls(text)}`;
    });
    return `${style.dim(time.slice(11, 19))} ${(LEVELS[level] ?? style.dim)(escapeControls(msg))} ${shown.join(" ")}\n`;
  } catch {
    return `${escapeControls(line.trimEnd())}\n`;
  }
}

import { createInterface } from "node:readline/promises";
import type { ConversationItem, Run, RunNow } from "@berth/client";
import { escapeControls, escapeExceptLayout } from "../terminal/escape-controls.ts";
import { clean, noteMore } from "../terminal/output.ts";
import { style } from "../terminal/style.ts";

// Prints what the agent does until the run ends. In a terminal, a person answers its questions here.
export async function followRun(run: Run): Promise<RunNow> {
  const printer = createPrinter();
  const questions = createQuestions(run);
  for await (const event of run.follow()) {
    if (event.type === "items") event.items.forEach(printer.item);
    if (event.type === "item") printer.item(event.item);
    if (event.type === "append") printer.append(event.itemId, event.text);
    if (event.type !== "run" && event.type !== "end") continue;
    printer.endLine();
    questions.show(event.run.waitsFor);
    if (event.type !== "end") continue;
    printer.line(endText(event.run));
    return event.run;
  }
  return await run.get();
}

type Question = RunNow["waitsFor"][number];

// Asks one question at a time. A person may answer it in the workspace meanwhile.
function createQuestions(run: Run) {
  let current: { itemId: string; stop: AbortController } | null = null;
  let waiting: Question[] = [];

  async function next(): Promise<void> {
    const question = waiting[0];
    if (!question || current) return;
    current = { itemId: question.itemId, stop: new AbortController() };
    try {
      await ask(run, question, current.stop.signal);
    } catch (error) {
      if (!current.stop.signal.aborted) noteMore(error instanceof Error ? error.message : String(error));
    }
    waiting = waiting.filter(({ itemId }) => itemId !== question.itemId);
    current = null;
    await next();
  }

  return {
    show(questions: Question[]): void {
      waiting = questions;
      if (current && !questions.some(({ itemId }) => itemId === current?.itemId)) current.stop.abort();
      void next();
    },
  };
}

async function ask(run: Run, question: Question, signal: AbortSignal): Promise<void> {
  process.stderr.write(`${style.yellow("The agent asks:")} ${escapeControls(question.title)}\n`);
  if (question.kind !== "permission" || !process.stdin.isTTY) {
    noteMore("Answer in the workspace or through the API.");
    return await new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }
  const { itemId, options } = question;
  // Some agents name their answers `allow_once`.
  options.forEach(({ name }, at) => process.stderr.write(`  ${at + 1}  ${escapeControls(name.replaceAll("_", " "))}\n`));
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  lines.on("SIGINT", () => process.emit("SIGINT"));
  try {
    for (;;) {
      const chosen = options[Number(await lines.question(`1 to ${options.length}: `, { signal })) - 1];
      if (chosen) return await run.answer({ itemId, optionId: chosen.id });
    }
  } finally {
    lines.close();
  }
}

// Text comes in pieces, and an item may come again as a whole: only what is new is printed.
function createPrinter() {
  const printed = new Map<string, string>();
  let isAtStart = true;

  function write(text: string): void {
    if (text === "") return;
    process.stdout.write(escapeExceptLayout(text));
    isAtStart = text.endsWith("\n");
  }
  function endLine(): void {
    if (!isAtStart) write("\n");
  }
  function line(text: string): void {
    endLine();
    write(`${text}\n`);
  }
  function append(id: string, text: string): void {
    if (!printed.has(id)) endLine();
    printed.set(id, (printed.get(id) ?? "") + text);
    write(escapeText(text));
  }

  return {
    line,
    endLine,
    append,
    item(item: ConversationItem): void {
      const before = printed.get(item.id) ?? "";
      if (item.kind === "assistant") {
        if (item.text.startsWith(before) && item.text.length > before.length) append(item.id, item.text.slice(before.length));
        return;
      }
      const text = lineOf(item);
      if (text === null || text === before) return;
      printed.set(item.id, text);
      line(text);
    },
  };
}

// Colours of the agent's own text would be taken for ours.
const escapeText = (text: string) => text.split("\n").map(escapeControls).join("\n");

function lineOf(item: ConversationItem): string | null {
  if (item.kind === "tool")
    return item.status === "completed" || item.status === "failed"
      ? style.dim(`${item.status === "failed" ? "✗" : "✓"} ${clean(item.title, 120)}`)
      : null;
  if (item.kind === "notice") return (item.level === "error" ? style.red : style.dim)(clean(item.text, 500));
  if (item.kind === "user") return style.bold(`> ${clean(item.text, 200)}`);
  return null;
}

const MAX_LISTED = 20;
const ENDINGS: Partial<Record<RunNow["status"], string>> = {
  succeeded: "The run has succeeded",
  failed: "The run has failed",
  interrupted: "The run was interrupted",
  lost: "The sandbox was stopped while the run worked, so the run is lost",
};

function endText({ status, message, files, fileCount, tokens }: RunNow): string {
  const listed = files.slice(0, MAX_LISTED).map((file) => `  ${file.kind.padEnd(8)}  ${clean(file.path, 100)}${countsOf(file)}\n`);
  const more = fileCount > listed.length ? `  and ${fileCount - listed.length} more\n` : "";
  const changed = fileCount === 0 ? "" : `Changed files:\n${listed.join("")}${more}`;
  const used = tokens ? ` (${tokens.input + tokens.output} tokens)` : "";
  const paint = status === "succeeded" ? style.green : style.red;
  return `${changed}${paint(`${ENDINGS[status] ?? `The run is ${status}`}${used}.`)}${message ? ` ${clean(message, 500)}` : ""}`;
}

const countsOf = ({ linesAdded, linesRemoved }: RunNow["files"][number]) =>
  linesAdded === undefined ? "" : `  +${linesAdded} -${linesRemoved ?? 0}`;

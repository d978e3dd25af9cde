import "@xterm/xterm/css/xterm.css";
import "../styles/programs.css";
import { useEffect, useRef, useState } from "react";
import { useActions } from "../actions/actions.ts";
import { usePage, useSandbox } from "../state/context.ts";
import { createXterm } from "../terminals/xterm.ts";
import { formatBytes } from "../text/paths.ts";
import { describeEnd } from "./describe-end.ts";
import { followOutput } from "./follow-output.ts";

const RUNNING = "It is running.";
const MOVES: Record<string, (lines: number) => number> = {
  ArrowUp: () => -1,
  ArrowDown: () => 1,
  PageUp: (lines) => 1 - lines,
  PageDown: (lines) => lines - 1,
  Home: () => -Infinity,
  End: () => Infinity,
};

// The output of a process of the API as it comes, on a screen that takes no input.
export default function OutputView({ processId, title }: { processId: string; title: string }) {
  const [page, sandbox, actions] = [usePage(), useSandbox(), useActions()];
  const container = useRef<HTMLDivElement>(null);
  const [state, setState] = useState(RUNNING);

  useEffect(() => {
    const element = container.current;
    if (!element) return;
    const fit = () => fitAddon.fit();
    const styled = createXterm({ ...page, ...sandbox, ...actions }, { disableStdin: true, cursorBlink: false, convertEol: true }, fit);
    const { xterm, fitAddon } = styled;
    xterm.open(element);
    xterm.textarea?.setAttribute("aria-label", `Output of ${title}`);
    // All other keys are the browser's and the page's.
    xterm.attachCustomKeyEventHandler((event) => {
      const move = MOVES[event.key];
      if (move && event.type === "keydown" && !event.ctrlKey && !event.altKey && !event.metaKey) {
        event.preventDefault();
        const lines = move(xterm.rows);
        if (Number.isFinite(lines)) xterm.scrollLines(lines);
        else if (lines > 0) xterm.scrollToBottom();
        else xterm.scrollToTop();
      }
      return false;
    });
    const resized = new ResizeObserver(fit);
    resized.observe(element);
    const write = (text: string) => new Promise<void>((resolve) => xterm.write(text, resolve));
    const following = followOutput(sandbox, processId, {
      write,
      dropped: (bytes) => write(`\x1b[0;2m[${formatBytes(bytes)} of the output are no longer kept]\x1b[0m\n`),
      ended: (process) =>
        setState(process.status === "running" ? RUNNING : `It has ended: ${describeEnd({ ...process, status: process.status })}.`),
      gone: () => setState("The sandbox does not know this process any more."),
    });
    return () => {
      following[Symbol.dispose]();
      resized.disconnect();
      styled[Symbol.dispose]();
    };
  }, [page, sandbox, actions, processId, title]);

  return (
    <div className="output-view">
      <div ref={container} className="screen" />
      <div className="output-state" role="status">
        {state}
      </div>
    </div>
  );
}

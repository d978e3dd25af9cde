import "../styles/panels.css";
import "../styles/programs.css";
import { Activity } from "lucide-react";
import type { Program } from "@berth/contract/daemon/programs.ts";
import { usePageState } from "../state/context.ts";
import { ProgramRow } from "./program-row.tsx";
import { usePrograms } from "./use-programs.ts";
import { useStop } from "./use-stop.ts";

// Everything that runs in the sandbox, what it uses, and the processes that ended lately.
export default function ProgramsPanel() {
  const { shown, problem, refresh } = usePrograms();
  const { body, onStop, stopping } = useStop(shown, refresh);
  const nameOf = useNames(shown?.programs ?? []);
  const running = inOrder(shown?.programs.filter(({ end }) => end === null) ?? []);
  const ended = shown?.programs.filter(({ end }) => end !== null).toSorted((a, b) => (a.end!.at < b.end!.at ? 1 : -1)) ?? [];
  return (
    <>
      <div className="panel-head">
        <h2>Programs</h2>
      </div>
      <div ref={body} className="panel-body" tabIndex={-1} aria-label="Programs" role="group">
        {problem !== null && <p className="tree-note">The list cannot be read: {problem}</p>}
        {shown && running.length + ended.length === 0 && <NoPrograms />}
        {running.length > 0 && (
          <ul className="program-list" aria-label="Running programs">
            {running.map((program) => (
              <ProgramRow
                key={program.id}
                program={program}
                shown={shown!}
                nameOf={nameOf}
                onStop={onStop}
                stopping={stopping.has(program.id)}
              />
            ))}
          </ul>
        )}
        {ended.length > 0 && (
          <>
            <h3 className="program-heading">Ended</h3>
            <ul className="program-list" aria-label="Ended processes">
              {ended.map((program) => (
                <ProgramRow key={program.id} program={program} shown={shown!} nameOf={nameOf} onStop={onStop} stopping={false} />
              ))}
            </ul>
          </>
        )}
      </div>
    </>
  );
}

const NoPrograms = () => (
  <div className="empty">
    <Activity size={28} strokeWidth={1.4} />
    <p>Nothing runs now. Open a terminal, and it appears here with what it uses.</p>
  </div>
);

// A person's own name for a terminal is on its tab too. What runs in it has a row of its own if it listens on a port.
function useNames(programs: Program[]): (id: string | null) => string | null {
  const names = usePageState("layout", (state) => state.terminalNames);
  return (id) => (id !== null && names[id]) || (programs.find((program) => program.id === id)?.title ?? null);
}

// Each listener after the program that has started it.
function inOrder(running: Program[]): Program[] {
  const ids = new Set(running.map(({ id }) => id));
  const isFirst = ({ parentId }: Program) => parentId === null || !ids.has(parentId);
  return running.filter(isFirst).flatMap((program) => [program, ...running.filter(({ parentId }) => parentId === program.id)]);
}

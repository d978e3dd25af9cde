import { Braces, ChevronsRight, CircleStop, Cog, Radio, ScrollText, Sparkles, SquareTerminal } from "lucide-react";
import type { Program } from "@berth/contract/daemon/programs.ts";
import { useActions } from "../actions/actions.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { usePage, useSandbox, useSession } from "../state/context.ts";
import { outputTab } from "../state/tabs/tab.ts";
import { formatAge } from "../text/age.ts";
import { formatBytes } from "../text/paths.ts";
import { describeEnd } from "./describe-end.ts";
import type { ShownPrograms } from "./use-programs.ts";

const kinds = {
  process: { name: "Process", icon: Cog },
  command: { name: "Command", icon: ChevronsRight },
  terminal: { name: "Terminal", icon: SquareTerminal },
  agent: { name: "Agent", icon: Sparkles },
  language: { name: "Language server", icon: Braces },
  listener: { name: "Server", icon: Radio },
} satisfies Record<Program["kind"], { name: string; icon: typeof Cog }>;

export interface RowProps {
  program: Program;
  shown: ShownPrograms;
  nameOf: (id: string | null) => string | null;
  onStop: (program: Program, name: string) => void;
  stopping: boolean;
}

export function ProgramRow({ program, shown, nameOf, onStop, stopping }: RowProps) {
  const { id, kind, title, parentId, startedAt, memoryBytes, ports, end } = program;
  const { mayEdit } = useSession();
  const { layout } = usePage();
  const { icon: Icon, name: kindName } = kinds[kind];
  const name = nameOf(id) ?? title;
  const parentName = nameOf(parentId);
  const share = shown.shares.get(id);
  const since = end?.at ?? startedAt;
  return (
    <li className="program-row" data-ended={end !== null}>
      <Icon size={15} aria-label={kindName} />
      <div className="truncate" title={title}>
        {name}
      </div>
      <div className="program-actions">
        <ShowButton program={program} name={name} />
        {mayEdit && end === null && (
          <IconButton label={`Stop ${name}`} disabled={stopping} onClick={() => onStop(program, name)}>
            <CircleStop size={15} />
          </IconButton>
        )}
      </div>
      <div className="program-facts">
        {parentName !== null && <span className="truncate">in {parentName}</span>}
        {end && <span className={end.exitCode === 0 ? undefined : "bad"}>{describeEnd(end)}</span>}
        {stopping && <span>stopping</span>}
        <time dateTime={since} title={`${end ? "Ended" : "Started"} ${new Date(since).toLocaleString()}`}>
          {formatAge(shown.atMs - Date.parse(since))}
        </time>
        {share !== undefined && <span title="Of one processor">CPU {Math.round(share * 100)}%</span>}
        {memoryBytes !== null && <span title="Memory">{formatBytes(memoryBytes)}</span>}
        {ports.map((port) => (
          <button
            key={port}
            type="button"
            className="program-port"
            title={`Show port ${port} beside the code`}
            disabled={!mayEdit}
            onClick={() => layout.openPreviewBeside(port)}
          >
            Port {port}
          </button>
        ))}
      </div>
    </li>
  );
}

function ShowButton({ program: { id, kind }, name }: { program: Program; name: string }) {
  const { layout } = usePage();
  const { terminals } = useSandbox();
  const { showTab } = useActions();
  const showTerminal = () => {
    layout.show("terminalsOpen");
    terminals.show(id);
  };
  if (kind === "process")
    return (
      <IconButton label={`Show output of ${name}`} onClick={() => showTab(outputTab(id, name))}>
        <ScrollText size={15} />
      </IconButton>
    );
  if (kind !== "terminal") return null;
  return (
    <IconButton label={`Show ${name}`} onClick={showTerminal}>
      <SquareTerminal size={15} />
    </IconButton>
  );
}

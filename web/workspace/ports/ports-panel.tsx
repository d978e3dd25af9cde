import "../styles/panels.css";
import { AppWindow, ExternalLink, Radio, Share2 } from "lucide-react";
import type { ExpectedPort, ListeningPort } from "@berth/contract/daemon.ts";
import { usePage, useSandbox, useSandboxState, useSession } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { sharePort } from "./share-port.ts";

export default function PortsPanel() {
  const { mayEdit } = useSession();
  const list = useSandboxState("ports", (state) => state.list);
  const expected = useSandboxState("ports", (state) => state.expected);
  const waiting = expected.filter(({ port }) => !list.some((one) => one.port === port));
  const nameOf = ({ port, program }: ListeningPort) => expected.find((one) => one.port === port)?.label ?? program;
  return (
    <>
      <div className="panel-head">
        <h2>Ports</h2>
      </div>
      <div className="panel-body">
        {!mayEdit && <p className="tree-note">Your link is for viewing only. Ask someone who can edit to share a port with you.</p>}
        {list.length + waiting.length === 0 && <NoPorts />}
        {list.map((listening) => (
          <PortRow key={listening.port} port={listening.port} program={nameOf(listening)} />
        ))}
        {waiting.map(({ port, label }) => (
          <ExpectedRow key={port} port={port} label={label} />
        ))}
      </div>
    </>
  );
}

function PortRow({ port, program }: { port: number; program: string | null }) {
  const deps = { ...usePage(), ...useSandbox() };
  const { mayEdit } = useSession();
  const { openPreview } = useActions();
  const { layout, notices, ports } = deps;
  const openInNewTab = () => void notices.attempt(`Could not open port ${port}`, () => ports.openInNewTab(port));
  return (
    <div className="list-row">
      <button
        type="button"
        className="list-row link grow"
        style={{ padding: 0 }}
        title={`Show port ${port} beside the code`}
        disabled={!mayEdit}
        onClick={() => layout.openPreviewBeside(port)}
      >
        <span className="number">{port}</span>
        <span className="grow truncate muted">{program ?? "Unknown program"}</span>
      </button>
      {mayEdit && (
        <>
          <IconButton label={`Preview port ${port} here`} onClick={() => openPreview(port)}>
            <AppWindow size={15} />
          </IconButton>
          <IconButton label={`Open port ${port} in a new tab`} onClick={openInNewTab}>
            <ExternalLink size={15} />
          </IconButton>
          <IconButton label={`Share port ${port}`} onClick={() => void sharePort(deps, port)}>
            <Share2 size={15} />
          </IconButton>
        </>
      )}
    </div>
  );
}

// A port of devcontainer.json on which no program listens yet.
const ExpectedRow = ({ port, label }: ExpectedPort) => (
  <div className="list-row muted">
    <span className="number">{port}</span>
    <span className="grow truncate">{label === null ? "Not started" : `${label}, not started`}</span>
  </div>
);

const NoPorts = () => (
  <div className="empty">
    <Radio size={28} strokeWidth={1.4} />
    <p>No ports yet. Start a server in the terminal, and its port appears here.</p>
  </div>
);

export default function AgentPanel() {
  return <section className="side-panel" aria-label="Agent" />;
}

import type { AgentChoice, Conversation } from "@berth/contract/agent.ts";
import { useAgent } from "../../state/use-agent.ts";
import { humanize } from "../../text/humanize.ts";

// The modes and models that the agent offers.
export function Choices({ conversation: { id, modes, models } }: { conversation: Conversation }) {
  const agent = useAgent();
  return (
    <>
      <ChoiceField label="Agent mode" choice={modes} nameOf={humanize} onChoose={(modeId) => agent.setMode(id, modeId)} />
      <ChoiceField label="Model" choice={models} nameOf={String} onChoose={(modelId) => agent.setModel(id, modelId)} />
    </>
  );
}

interface ChoiceFieldProps {
  label: string;
  choice: AgentChoice | null;
  nameOf: (name: string) => string;
  onChoose: (id: string) => void;
}

function ChoiceField({ label, choice, nameOf, onChoose }: ChoiceFieldProps) {
  if (choice === null || choice.available.length < 2) return null;
  return (
    <select aria-label={label} title={label} value={choice.current} onChange={(event) => onChoose(event.target.value)}>
      {choice.available.map(({ id, name, description }) => (
        <option key={id} value={id} title={description}>
          {nameOf(name)}
        </option>
      ))}
    </select>
  );
}

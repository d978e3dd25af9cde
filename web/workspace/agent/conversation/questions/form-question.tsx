import { CircleQuestionMark } from "lucide-react";
import { useId, useState, type FormEvent } from "react";
import type { FormField, FormItem, FormValues } from "@berth/contract/questions.ts";
import { useSession } from "../../../state/context.ts";
import { useAgent } from "../../../state/use-agent.ts";
import { FieldInput } from "./field-input.tsx";
import { choicesFault, readForm } from "./read-form.ts";

// The agent asks a person to fill in a form. The first answer counts, whichever browser it comes from.
export function FormQuestion({ conversationId, item }: { conversationId: string; item: FormItem & { id: string } }) {
  const agent = useAgent();
  const { mayEdit } = useSession();
  const heading = useId();
  const [fault, setFault] = useState<string | null>(null);
  const { title, fields, outcome } = item;
  if (outcome !== null)
    return (
      <div className="agent-question" role="group" aria-labelledby={heading}>
        <Title id={heading} title={title} />
        {outcome.type === "accepted" ? (
          <Answers fields={fields} values={outcome.values} />
        ) : (
          <p className="muted">{outcome.type === "declined" ? "Declined." : "Not answered. The turn has ended."}</p>
        )}
      </div>
    );
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const values = readForm(fields, new FormData(event.currentTarget));
    const found = choicesFault(fields, values);
    setFault(found);
    if (found === null) agent.answer(conversationId, item.id, { action: "accept", values });
  };
  const onChange = ({ currentTarget }: FormEvent<HTMLFormElement>) => {
    setFault(null);
    agent.formDrafts.set(item.id, new FormData(currentTarget));
  };
  return (
    <form className="agent-question" aria-labelledby={heading} onSubmit={onSubmit} onChange={onChange}>
      <Title id={heading} title={title} />
      {fields.map((field, index) => (
        <FieldInput
          key={field.id}
          field={field}
          name={String(index)}
          entered={agent.formDrafts.get(item.id)?.getAll(String(index)).map(String)}
          disabled={!mayEdit}
        />
      ))}
      {fault && (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
      {mayEdit && (
        <div className="row">
          <button type="submit" className="button small primary">
            Answer
          </button>
          <button type="button" className="button small" onClick={() => agent.answer(conversationId, item.id, { action: "decline" })}>
            Decline
          </button>
        </div>
      )}
    </form>
  );
}

function Title({ id, title }: { id: string; title: string }) {
  return (
    <p>
      <CircleQuestionMark size={15} />
      <span className="grow" id={id}>
        {title}
      </span>
    </p>
  );
}

function Answers({ fields, values }: { fields: FormField[]; values: FormValues }) {
  const answered = fields.filter(({ id }) => values[id] !== undefined);
  if (answered.length === 0) return <p className="muted">Answered.</p>;
  return (
    <dl>
      {answered.map((field) => (
        <div key={field.id} style={{ display: "contents" }}>
          <dt>{field.label}</dt>
          <dd>{shownValue(field, values[field.id])}</dd>
        </div>
      ))}
    </dl>
  );
}

function shownValue(field: FormField, value: FormValues[string] | undefined): string {
  const nameOf = (id: unknown) => ("choices" in field && field.choices.find((each) => each.id === id)?.name) || String(id);
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return Array.isArray(value) ? value.map(nameOf).join(", ") || "None" : nameOf(value);
}

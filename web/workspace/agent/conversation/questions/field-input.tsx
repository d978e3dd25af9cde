import { useId } from "react";
import type { FormField } from "@berth/contract/questions.ts";

interface FieldInputProps {
  field: FormField;
  name: string;
  // The entries of a person when the panel was closed; undefined if there were none.
  entered: string[] | undefined;
  disabled: boolean;
}

// One field of a form. The browser checks what its own controls can check.
export function FieldInput({ field, name, entered, disabled }: FieldInputProps) {
  const id = useId();
  const { label, description, required } = field;
  const hint = description === undefined ? undefined : `${id}-hint`;
  const note = required ? "" : " (optional)";
  const Hint = description !== undefined && (
    <p className="hint" id={hint}>
      {description}
    </p>
  );
  if (field.type === "boolean")
    return (
      <fieldset disabled={disabled}>
        <label className="tick">
          <input type="checkbox" name={name} defaultChecked={entered ? entered.length > 0 : field.default} aria-describedby={hint} />
          {label}
        </label>
        {Hint}
      </fieldset>
    );
  if (field.type === "choices")
    return (
      <fieldset disabled={disabled} aria-describedby={hint}>
        <legend>
          {label}
          <span className="muted">{note}</span>
        </legend>
        {Hint}
        {field.choices.map((choice) => (
          <label key={choice.id} className="tick" title={choice.description}>
            <input type="checkbox" name={name} value={choice.id} defaultChecked={(entered ?? field.default)?.includes(choice.id)} />
            {choice.name}
          </label>
        ))}
      </fieldset>
    );
  return (
    <fieldset disabled={disabled}>
      <label className="label" htmlFor={id}>
        {label}
        <span className="muted">{note}</span>
      </label>
      {Hint}
      <Control field={field} entered={entered?.[0]} common={{ id, name, required, className: "field", "aria-describedby": hint }} />
    </fieldset>
  );
}

interface ControlProps {
  entered: string | undefined;
  field: Exclude<FormField, { type: "boolean" | "choices" }>;
  common: { id: string; name: string; required: boolean; className: string; "aria-describedby": string | undefined };
}

function Control({ field, entered, common }: ControlProps) {
  switch (field.type) {
    case "choice":
      return (
        <select {...common} defaultValue={entered ?? (field.default === undefined ? "" : `=${field.default}`)}>
          <option value="">{field.required ? "Choose…" : "No answer"}</option>
          {field.choices.map(({ id, name, description }) => (
            // An empty value would be no answer.
            <option key={id} value={`=${id}`} title={description}>
              {name}
            </option>
          ))}
        </select>
      );
    case "number":
    case "integer":
      return (
        <input
          {...common}
          type="number"
          step={field.type === "integer" ? 1 : "any"}
          min={field.minimum}
          max={field.maximum}
          defaultValue={entered ?? field.default}
        />
      );
    case "text": {
      const { default: initial, minLength, maxLength } = field;
      const value = entered ?? initial;
      // Very long or several lines.
      if (field.format === undefined && ((maxLength ?? 0) > 200 || initial?.includes("\n")))
        return <textarea {...common} rows={4} minLength={minLength} maxLength={maxLength} defaultValue={value} />;
      return (
        <input {...common} type={inputTypes[field.format ?? "text"]} minLength={minLength} maxLength={maxLength} defaultValue={value} />
      );
    }
  }
}

const inputTypes = { text: "text", email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

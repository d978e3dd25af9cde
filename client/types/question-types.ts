// The questions of an agent, with which its turn waits. `outcome` is null until then.
export interface PermissionQuestion {
  kind: "permission";
  toolItemId: string;
  title: string;
  options: { id: string; name: string; kind: "allow_once" | "allow_always" | "reject_once" | "reject_always" }[];
  // A rule has answered, and no person.
  byRule?: true;
  outcome: null | { type: "selected"; optionId: string } | { type: "cancelled" };
}

export interface FormQuestion {
  kind: "form";
  title: string;
  fields: FormField[];
  outcome: null | { type: "accepted"; values: FormValues } | { type: "declined" } | { type: "cancelled" };
}

// A person is to open an address. `completed`: the agent reports that the person has finished there.
export interface UrlQuestion {
  kind: "url";
  title: string;
  url: string;
  outcome: null | { type: "accepted" } | { type: "completed" } | { type: "declined" } | { type: "cancelled" };
}

export type FormValues = Record<string, string | number | boolean | string[]>;

export type FormField = { id: string; label: string; description?: string; required: boolean } & (
  | {
      type: "text";
      minLength?: number;
      maxLength?: number;
      pattern?: string;
      format?: "email" | "uri" | "date" | "date-time";
      default?: string;
    }
  | { type: "number" | "integer"; minimum?: number; maximum?: number; default?: number }
  | { type: "boolean"; default?: boolean }
  | { type: "choice"; choices: FormChoice[]; default?: string }
  | { type: "choices"; choices: FormChoice[]; minItems?: number; maxItems?: number; default?: string[] }
);

export interface FormChoice {
  id: string;
  name: string;
  description?: string;
}

// An option of a permission, or what to do with a form or an address.
export type QuestionAnswer = { optionId: string } | { action: "accept" | "decline" | "cancel"; values?: FormValues };

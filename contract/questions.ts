// The items of a conversation with which a turn waits for a person (agent.ts). A turn that waits is no activity of the session. Plain
// types, no imports. The texts come from the agent; they are plain, not Markdown.

export type Question = PermissionItem | FormItem | UrlItem;
export type QuestionOutcome = NonNullable<Question["outcome"]>;

// POST /agent/answer and the command `answer`: an option of a permission, or what to do with a form or an address. `cancel` gives no
// answer, and the agent goes on without one.
export type QuestionAnswer = { optionId: string } | { action: "accept" | "decline" | "cancel"; values?: FormValues };

export interface PermissionItem {
  kind: "permission";
  // The item of the tool that needs the permission.
  toolItemId: string;
  title: string;
  options: { id: string; name: string; kind: "allow_once" | "allow_always" | "reject_once" | "reject_always" }[];
  // A rule has answered, and no person.
  byRule?: true;
  // null while the request is pending.
  outcome: null | { type: "selected"; optionId: string } | { type: "cancelled" };
}

export interface FormItem {
  kind: "form";
  title: string;
  fields: FormField[];
  // null while the form waits. `cancelled`: the turn has ended, or the agent no longer asks.
  outcome: null | { type: "accepted"; values: FormValues } | { type: "declined" } | { type: "cancelled" };
}

// The agent asks a person to open an address, such as a sign-in page. `accepted`: a person has opened it. `completed`: the agent reports
// that the person has finished there.
export interface UrlItem {
  kind: "url";
  title: string;
  // http or https, without a name or a password.
  url: string;
  outcome: null | { type: "accepted" } | { type: "completed" } | { type: "declined" } | { type: "cancelled" };
}

export type FormValues = Record<string, string | number | boolean | string[]>;

export type FormField = { id: string; label: string; description?: string; required: boolean } & (
  | {
      type: "text";
      minLength?: number;
      maxLength?: number;
      // A regular expression. Only the daemon checks it, because it may take long.
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

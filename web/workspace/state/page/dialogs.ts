import { createStore } from "zustand/vanilla";

export interface Choice {
  id: string;
  label: string;
  kind?: "primary" | "danger";
}

export interface Question {
  title: string;
  text?: string;
  choices: Choice[];
  // A text field. `error` returns why a value cannot be accepted, or null.
  input?: { label: string; value: string; error: (value: string) => string | null };
}

// Null if the person dismissed the dialog.
export type Answer = { choice: string; value: string } | null;

// Asks the person one question at a time. A new question dismisses the one before.
export function createDialogs() {
  const store = createStore<{ question: Question | null; resolve: (answer: Answer) => void }>(() => ({
    question: null,
    resolve: () => {},
  }));
  const ask = (question: Question): Promise<Answer> =>
    new Promise((resolve) => {
      store.getState().resolve(null);
      store.setState({
        question,
        resolve: (answer) => {
          store.setState({ question: null, resolve: () => {} });
          resolve(answer);
        },
      });
    });
  return {
    store,
    ask,
    confirm: async (title: string, text: string, label: string, kind: Choice["kind"] = "danger"): Promise<boolean> =>
      (await ask({ title, text, choices: [{ id: "yes", label, kind }] })) !== null,
  };
}

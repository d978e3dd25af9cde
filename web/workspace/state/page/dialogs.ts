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
  // Present when a line of text is asked for.
  input?: { label: string; value: string; fault: (value: string) => string | null };
}

export type Answer = { choice: string; value: string } | null;

export type Dialogs = ReturnType<typeof createDialogs>;

// Questions to the person, one at a time. The answer is null when the question was dismissed.
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

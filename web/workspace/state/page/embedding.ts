import { createStore } from "zustand/vanilla";

export interface EmbeddingState {
  // The partner's page around this one can resume a paused session.
  canResume: boolean;
  // The person has asked for it.
  isResuming: boolean;
}

// The partner's page that has this one in a frame.
export function createEmbedding() {
  const store = createStore<EmbeddingState>(() => ({ canResume: false, isResuming: false }));
  let ask = () => {};
  return {
    store,
    connected: (options: { canResume: boolean; onResumeAsked: () => void }) => {
      ask = options.onResumeAsked;
      store.setState({ canResume: options.canResume });
    },
    askToResume: () => {
      store.setState({ isResuming: true });
      ask();
    },
    resumeEnded: () => store.setState({ isResuming: false }),
  };
}

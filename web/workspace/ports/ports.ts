import { createStore } from "zustand/vanilla";
import type { ListeningPort } from "@berth/contract/daemon.ts";
import type { Api } from "../connection/api.ts";

export type Ports = ReturnType<typeof createPorts>;

// The ports that programs in the sandbox listen on.
export function createPorts(api: Api) {
  const store = createStore<{ list: ListeningPort[] }>(() => ({ list: [] }));
  return {
    store,
    heard: (list: ListeningPort[]) => store.setState({ list }),
    link: async (port: number, path = "/") => (await api.previewLink({ port, path })).url,
  };
}

import { createStore } from "zustand/vanilla";
import type { ListeningPort } from "@berth/contract/daemon.ts";
import type { Api } from "../../connection/api.ts";

export type Ports = ReturnType<typeof createPorts>;

// The ports that programs in the sandbox listen on.
export function createPorts(api: Api) {
  const store = createStore<{ list: ListeningPort[] }>(() => ({ list: [] }));
  const link = async (port: number, path = "/") => (await api.previewLink({ port, path })).url;
  return {
    store,
    heard: (list: ListeningPort[]) => store.setState({ list }),
    link,
    // The tab must be opened by the click itself; its address comes a moment later. What runs in the sandbox must not get
    // hold of this page through its opener.
    async openTab(port: number, path = "/") {
      const opened = window.open("about:blank", "_blank");
      if (opened === null) throw new Error("the browser did not allow a new tab");
      opened.opener = null;
      try {
        opened.location.replace(await link(port, path));
      } catch (error) {
        opened.close();
        throw error;
      }
    },
  };
}

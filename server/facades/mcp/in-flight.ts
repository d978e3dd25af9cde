// The calls that are under way, so that a message in another request can cancel them. `client` is the credential with the id that the client
// got from this server: clients that share a key use the same ids of messages.
export interface InFlight {
  add(client: string, id: unknown, stop: AbortController): Disposable;
  // No-op if there is no such call.
  cancel(client: string, id: unknown): void;
}

export function createInFlight(): InFlight {
  const calls = new Map<string, AbortController>();
  const keyOf = (client: string, id: unknown) => `${client} ${JSON.stringify(id)}`;
  return {
    add(client, id, stop) {
      const key = keyOf(client, id);
      if (id !== undefined) calls.set(key, stop);
      return { [Symbol.dispose]: () => void (calls.get(key) === stop && calls.delete(key)) };
    },
    cancel: (client, id) => calls.get(keyOf(client, id))?.abort(),
  };
}

export interface Connection {
  // Skips the wait before the next attempt, for example after a resume or when the network is back.
  retryNow(): void;
  // Replaces the connection even if it looks open.
  reconnect(): void;
}

export interface Connections extends Connection {
  add(connection: Connection): Disposable;
}

// All open connections to the sandbox, so that they can be retried together.
export function createConnections(initial: Connection[]): Connections {
  const all = new Set(initial);
  return {
    retryNow: () => all.forEach((connection) => connection.retryNow()),
    reconnect: () => all.forEach((connection) => connection.reconnect()),
    add(connection) {
      all.add(connection);
      return { [Symbol.dispose]: () => void all.delete(connection) };
    },
  };
}

// Functions that are called with every value, in the order in which they came.
export function createListeners<Value>() {
  const listeners = new Set<(value: Value) => void>();
  return {
    call(value: Value): void {
      for (const listener of listeners) listener(value);
    },
    listen(listener: (value: Value) => void): Disposable {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

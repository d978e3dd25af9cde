// Owns everything that outlives a process (servers, sandboxes, folders, databases), so that an interrupted run removes it too.
export interface Resources extends AsyncDisposable {
  // Owns `resource` until the returned object or the list is disposed.
  own<Resource extends AsyncDisposable>(resource: Resource): Resource;
  // Owns what `remove` removes.
  defer(remove: () => Promise<unknown>): AsyncDisposable;
}

export function createResources(): Resources {
  const owned = new Set<AsyncDisposable>();
  let closed = false;

  function own<Resource extends AsyncDisposable>(resource: Resource): Resource {
    const dispose = resource[Symbol.asyncDispose].bind(resource);
    let disposing: Promise<void> | undefined;
    const once = () => (disposing ??= Promise.resolve(dispose()).finally(() => owned.delete(resource)));
    resource[Symbol.asyncDispose] = once;
    owned.add(resource);
    if (closed) void once().catch(() => {});
    return resource;
  }

  return {
    own,
    defer: (remove) => own({ [Symbol.asyncDispose]: async () => void (await remove()) }),
    async [Symbol.asyncDispose]() {
      closed = true;
      const failures: unknown[] = [];
      for (const resource of [...owned].reverse())
        await resource[Symbol.asyncDispose]().then(undefined, (error: unknown) => failures.push(error));
      if (failures.length > 0) throw new AggregateError(failures, "not everything could be removed");
    },
  };
}

import type { Page } from "../types/api-types.ts";

// A paged list. Iterate over all entries, or request one page at a time.
export interface Paged<T> extends AsyncIterable<T> {
  page(cursor?: string): Promise<Page<T>>;
}

export function paged<T>(page: (cursor?: string) => Promise<Page<T>>): Paged<T> {
  return {
    page,
    async *[Symbol.asyncIterator]() {
      let cursor: string | undefined;
      do {
        const { data, nextCursor } = await page(cursor);
        yield* data;
        cursor = nextCursor ?? undefined;
      } while (cursor !== undefined);
    },
  };
}

// Lists that come in pages, as one iterator.

/** One page of a list; the next is asked for with `cursor: nextCursor`, until that is null. */
export interface Page<Item> {
  data: Item[];
  nextCursor: string | null;
}

/** A list: `for await` yields every item, and fetches a page when the one before is used up. */
export class Pages<Item> implements AsyncIterable<Item> {
  constructor(private readonly fetchPage: (cursor?: string) => Promise<Page<Item>>) {}

  /** Return one page: the one that was asked for, or the one at a cursor. */
  page(cursor?: string): Promise<Page<Item>> {
    return this.fetchPage(cursor);
  }

  /** Yield the pages, beginning with the one that was asked for. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let page = await this.fetchPage();
    for (;;) {
      yield page;
      const cursor = page.nextCursor;
      if (cursor === null) return;
      page = await this.fetchPage(cursor);
      if (page.nextCursor === cursor) throw new Error("the list does not end: a page names itself as the next");
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** Return the first `most` items, or all of them. */
  async all(most: number = Infinity): Promise<Item[]> {
    const found: Item[] = [];
    for await (const item of this) {
      if (found.length >= most) break;
      found.push(item);
    }
    return found;
  }
}

import { nextTurn } from '@agentjet/ledger';

/**
 * Returns the first `limit` items that pass, and whether more follow. Other work runs after every thousand items, so
 * that a long list delays no request.
 */
export async function takePage<Item>(
  items: Iterable<Item>,
  { passes, limit }: { readonly passes: (item: Item) => boolean; readonly limit: number },
): Promise<{ readonly page: readonly Item[]; readonly hasMore: boolean }> {
  const page: Item[] = [];
  let numSeen = 0;
  for (const item of items) {
    if (++numSeen % itemsOfTurn === 0) await nextTurn();
    if (!passes(item)) continue;
    if (page.length === limit) return { page, hasMore: true };
    page.push(item);
  }
  return { page, hasMore: false };
}

const itemsOfTurn = 1000;

/** Returns a test that passes all items after the one with this id. With no id, or an unknown one, all items pass. */
export function isAfter(after: string | undefined, isKnown: (id: string) => boolean): (id: string) => boolean {
  let isPast = after === undefined || !isKnown(after);
  return (id) => {
    const result = isPast;
    isPast ||= id === after;
    return result;
  };
}

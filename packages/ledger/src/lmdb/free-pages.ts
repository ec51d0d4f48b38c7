/**
 * Checks LMDB's list of free pages. LMDB writes to these pages, so none of them may be in use. Each value has the
 * number of its items, and then the items (8 bytes each). An item is a page, a zero, or a negative number. A negative
 * number is the length of a block of pages, and the next item is the first page of the block. Marks the pages as used.
 * Returns the problem if it finds one.
 */
export function requireFreePages(lists: readonly Buffer[], used: Uint8Array): string | undefined {
  for (const list of lists) {
    const items = Array.from({ length: Math.floor(list.length / 8) }, (_none, index) => list.readBigInt64LE(8 * index));
    const count = Number(items[0] ?? 0n);
    if (count < 0 || count >= items.length) return `its list of free pages has ${count} of ${items.length - 1} items`;
    let block = 1;
    for (const item of items.slice(1, count + 1).map(Number)) {
      if (item < 0) block = -item;
      if (item <= 0) continue;
      if (item < 2 || item + block > used.length)
        return `its list of free pages names page ${item}, which does not exist`;
      for (let page = item; page < item + block; page++) {
        if (used[page] !== 0) return `page ${page} is free and in use`;
        used[page] = 1;
      }
      block = 1;
    }
  }
  return undefined;
}

/** At most this many packs stay open for more items. The limit keeps the time linear if there are many trees. */
const maxOpenPacks = 64;

/**
 * Fills packs by first fit, largest first: it puts items into as few packs of at most `budget` tokens as it finds. An
 * item beyond the budget gets a separate pack.
 */
export function fillPacks<T extends { readonly tokens: number }>(items: readonly T[], budget: number): T[][] {
  const closed: T[][] = [];
  const open: { readonly items: T[]; tokens: number }[] = [];
  for (const item of items.toSorted((a, b) => b.tokens - a.tokens)) {
    const pack = open.find(({ tokens }) => tokens + item.tokens <= budget);
    if (pack === undefined) open.push({ items: [item], tokens: item.tokens });
    else {
      pack.items.push(item);
      pack.tokens += item.tokens;
    }
    if (open.length > maxOpenPacks) closed.push(...open.splice(0, 1).map((full) => full.items));
  }
  return [...closed, ...open.map(({ items: packed }) => packed)];
}

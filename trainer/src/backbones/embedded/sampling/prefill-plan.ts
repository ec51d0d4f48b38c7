/** Decides which prompts go through the model next, and how many tokens of each. */

export type PrefillPlan<Item> = { readonly items: readonly Item[]; readonly width: number };

type Prompt = { readonly numPending: number };

/**
 * Plans one pass over at most `maxTokens` padded tokens. `leader` is always part of the pass. Other prompts join it, in
 * the given order, if they fill at least half of the common width.
 */
export function planPrefill<Item extends Prompt>(
  leader: Item,
  others: readonly Item[],
  maxTokens: number,
): PrefillPlan<Item> {
  const near = others.filter((item) => item !== leader && item.numPending <= 2 * leader.numPending);
  const widest = near.reduce((most, item) => Math.max(most, item.numPending), leader.numPending);
  const width = Math.min(maxTokens, leader.numPending >= maxTokens ? maxTokens : widest);
  const joining = others.filter((item) => item !== leader && 2 * Math.min(item.numPending, width) >= width);
  const numRows = Math.max(1, Math.floor(maxTokens / width));
  return { items: [leader, ...joining].slice(0, numRows), width };
}

/** Alternates between the oldest prompt and the shortest one, so neither long nor short prompts wait for all others. */
export function chooseLeader<Item extends Prompt & { readonly arrival: number }>(
  items: readonly Item[],
  turn: number,
): Item | undefined {
  const rank = (item: Item): number => (turn % 2 === 0 ? item.arrival : item.numPending);
  return items.reduce<Item | undefined>(
    (best, item) => (best === undefined || rank(item) < rank(best) ? item : best),
    undefined,
  );
}

import type { Segment, TokenTrie } from './token-trie.js';

/** Rows of one tree. `tokens` counts the tokens below the current segment. */
type Bundle = { readonly rows: number[]; readonly tokens: number };

/**
 * At most this many bundles stay open for more rows. The limit keeps the time linear if there are many bundles at one
 * branch.
 */
const maxOpenBundles = 32;

/**
 * Decides which rows go through the model as one tree. Rows that share a prefix stay together as long as the tree fits
 * the budget. A larger tree is cut at the highest branch, and each side keeps its own copy of the path above. A tree is
 * also cut if the shared path is too short to save time. A single row beyond the budget becomes a separate tree.
 */
export function splitTrie(trie: TokenTrie, maxTokens: number): number[][] {
  const waiting = new Map<Segment, Bundle[]>();
  const take = (segment: Segment): Bundle[] => {
    const bundles = waiting.get(segment) ?? [];
    waiting.delete(segment);
    if (segment.endingRows.length > 0) bundles.unshift({ rows: [...segment.endingRows], tokens: 0 });
    return bundles;
  };
  for (const segment of trie.preorder().reverse()) {
    const length = segment.end - segment.start;
    const merged = mergeBundles(take(segment), segment.end, maxTokens);
    const parent = segment.parent ?? trie.root;
    const siblings = waiting.get(parent) ?? [];
    for (const bundle of merged) siblings.push({ rows: bundle.rows, tokens: bundle.tokens + length });
    waiting.set(parent, siblings);
  }
  return take(trie.root)
    .map((bundle) => bundle.rows.sort((a, b) => a - b))
    .sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
}

/** Uses first fit, largest first. `depth` is the number of tokens on the path that all of these bundles share. */
function mergeBundles(bundles: Bundle[], depth: number, maxTokens: number): Bundle[] {
  if (bundles.length < 2) return bundles;
  const closed: Bundle[] = [];
  const open: Bundle[] = [];
  for (const bundle of bundles.sort((a, b) => b.tokens - a.tokens)) {
    const index = open.findIndex((other) => shouldMerge(other.tokens, bundle.tokens, depth, maxTokens));
    const other = open[index];
    if (other !== undefined) open[index] = joinBundles(other, bundle);
    else open.push(bundle);
    if (open.length > maxOpenBundles) closed.push(...open.splice(0, 1));
  }
  return [...closed, ...open];
}

/**
 * If a prefix saves less than this share of the smaller side, it costs more attention in a larger tree than it saves.
 */
const minSaving = 1 / 32;

/** `a` and `b` are the numbers of tokens below the shared path. */
function shouldMerge(a: number, b: number, depth: number, maxTokens: number): boolean {
  if (a === 0 || b === 0) return true;
  return depth > minSaving * Math.min(a, b) && depth + a + b <= maxTokens;
}

function joinBundles(a: Bundle, b: Bundle): Bundle {
  const [large, small] = a.rows.length >= b.rows.length ? [a, b] : [b, a];
  for (const row of small.rows) large.rows.push(row);
  return { rows: large.rows, tokens: a.tokens + b.tokens };
}

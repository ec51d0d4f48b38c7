import { byteCharacters } from '@agentjet/tokenizer';

export type Merge = readonly [string, string];

type Word = { pieces: readonly string[]; readonly count: number };

const textEncoder = new TextEncoder();

function countWords(texts: Iterable<string>, pattern: RegExp): Word[] {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const word of text.match(pattern) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].map(([word, count]) => ({
    pieces: Array.from(textEncoder.encode(word), (byte) => byteCharacters[byte] ?? ''),
    count,
  }));
}

function countPairs(words: readonly Word[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { pieces, count } of words) {
    for (let index = 1; index < pieces.length; index++) {
      const pair = `${pieces[index - 1]} ${pieces[index]}`;
      counts.set(pair, (counts.get(pair) ?? 0) + count);
    }
  }
  return counts;
}

/**
 * Returns the most frequent pair. Among equally frequent pairs it returns the first in code-unit order, so the result
 * depends only on the texts.
 */
function findBest(counts: ReadonlyMap<string, number>): string | undefined {
  let best: string | undefined;
  for (const [pair, count] of counts) {
    const bestCount = best === undefined ? 1 : (counts.get(best) ?? 0);
    if (count > bestCount || (count === bestCount && best !== undefined && pair < best)) best = pair;
  }
  return best;
}

function applyMerge(pieces: readonly string[], [left, right]: Merge): readonly string[] {
  const merged: string[] = [];
  for (let index = 0; index < pieces.length; index++) {
    const isPair = pieces[index] === left && pieces[index + 1] === right;
    merged.push(isPair ? left + right : (pieces[index] ?? ''));
    if (isPair) index++;
  }
  return merged;
}

/**
 * Learns byte-pair encoding (Gage 1994; Sennrich et al. 2016) over the words that `pattern` finds. It joins the most
 * frequent pair of neighbours, `numMerges` times or until no pair occurs twice. Returns the merges in the order in
 * which they apply.
 */
export function trainBpe(
  texts: Iterable<string>,
  options: { readonly pattern: RegExp; readonly numMerges: number },
): readonly Merge[] {
  const words = countWords(texts, options.pattern);
  const merges: Merge[] = [];
  while (merges.length < options.numMerges) {
    const best = findBest(countPairs(words));
    if (best === undefined) break;
    const [left = '', right = ''] = best.split(' ');
    merges.push([left, right]);
    for (const word of words) word.pieces = applyMerge(word.pieces, [left, right]);
  }
  return merges;
}

/**
 * Terms of one micro-batch that were sampled at several temperatures. Hidden states are read once for each predicting
 * token; a scaled row is such a state divided by one temperature, and a pair becomes a token at one temperature.
 */

export type MixedTemperatures = {
  /** Shape [R]: which of the U head rows is scaled. */
  readonly scaledRows: Int32Array;
  /** Shape [R]: 1 / temperature. */
  readonly inverses: Float32Array;
};

type Pairs = { readonly pairRows: Int32Array; readonly pairTargets: Int32Array; readonly termPairs: Int32Array };

/** `temperatures`: of each term; a pair without terms gets `spare`. Greedy tokens (0) count as temperature 1. */
export function mixTemperatures(
  { pairRows, pairTargets, termPairs }: Pairs,
  temperatures: readonly number[],
  spare: number,
): Pairs & { readonly mixed: MixedTemperatures } {
  const rows = new Numbering<{ readonly headRow: number; readonly temperature: number }>();
  const pairs = new Numbering<{ readonly row: number; readonly target: number }>();
  const add = (pair: number, given: number): number => {
    const temperature = given > 0 ? given : 1;
    const headRow = pairRows[pair] ?? 0;
    const row = rows.numberOf(`${headRow} ${temperature}`, { headRow, temperature });
    return pairs.numberOf(`${pair} ${temperature}`, { row, target: pairTargets[pair] ?? 0 });
  };
  const mixedTermPairs = termPairs.map((pair, term) => add(pair, temperatures[term] ?? spare));
  const hasTerm = new Set(termPairs);
  for (const pair of pairRows.keys()) if (!hasTerm.has(pair)) add(pair, spare);
  return {
    pairRows: Int32Array.from(pairs.items, ({ row }) => row),
    pairTargets: Int32Array.from(pairs.items, ({ target }) => target),
    termPairs: mixedTermPairs,
    mixed: {
      scaledRows: Int32Array.from(rows.items, ({ headRow }) => headRow),
      inverses: Float32Array.from(rows.items, ({ temperature }) => 1 / temperature),
    },
  };
}

/** Numbers different keys in the order in which they come. */
class Numbering<Item> {
  readonly items: Item[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(key: string, item: Item): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.items.length);
    this.items.push(item);
    return this.items.length - 1;
  }
}

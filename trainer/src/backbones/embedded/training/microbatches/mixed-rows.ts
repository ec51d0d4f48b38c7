/**
 * Handles terms of one micro-batch that were drawn from several kinds of distributions: at other temperatures, or from
 * the tokens that top-p and top-k kept. Hidden states are read once for each predicting token. A mixed row is such a
 * state under one temperature and one set of tokens, and a pair becomes a token in one of these rows.
 */

export type MixedRows = {
  /** Shape [R]: index of the row among the U head rows. */
  readonly scaledRows: Int32Array;
  /** Shape [R]: 1 / temperature. */
  readonly inverses: Float32Array;
  /** Shape [R]: ids that a row keeps, undefined if it keeps all. Absent if every row keeps all. */
  readonly kept: readonly (Int32Array | undefined)[] | undefined;
};

/** How the token of one term was drawn. */
export type RowSampling = {
  /** Greedy tokens (0) count as temperature 1. */
  readonly temperature: number;
  readonly kept: Int32Array | undefined;
  /**
   * The number of the set of kept tokens. Equal sets of one pack have the same number. A negative number means that all
   * tokens are kept.
   */
  readonly set: number;
};

type Pairs = { readonly pairRows: Int32Array; readonly pairTargets: Int32Array; readonly termPairs: Int32Array };

/** `draws` has one entry per term; a pair without terms gets `spare`. */
export function mixRows(
  { pairRows, pairTargets, termPairs }: Pairs,
  draws: readonly RowSampling[],
  spare: RowSampling,
): Pairs & { readonly mixed: MixedRows } {
  const rows = new Numbering<RowSampling & { readonly headRow: number }>();
  const pairs = new Numbering<{ readonly row: number; readonly target: number }>();
  const add = (pair: number, draw: RowSampling): number => {
    const temperature = draw.temperature > 0 ? draw.temperature : 1;
    const headRow = pairRows[pair] ?? 0;
    const row = rows.numberOf(`${headRow} ${temperature} ${draw.set}`, { ...draw, headRow, temperature });
    return pairs.numberOf(`${pair} ${temperature} ${draw.set}`, { row, target: pairTargets[pair] ?? 0 });
  };
  const mixedTermPairs = termPairs.map((pair, term) => add(pair, draws[term] ?? spare));
  const hasTerm = new Set(termPairs);
  for (const pair of pairRows.keys()) if (!hasTerm.has(pair)) add(pair, spare);
  const kept = rows.items.map((row) => row.kept);
  return {
    pairRows: Int32Array.from(pairs.items, ({ row }) => row),
    pairTargets: Int32Array.from(pairs.items, ({ target }) => target),
    termPairs: mixedTermPairs,
    mixed: {
      scaledRows: Int32Array.from(rows.items, ({ headRow }) => headRow),
      inverses: Float32Array.from(rows.items, ({ temperature }) => 1 / temperature),
      kept: kept.some((ids) => ids !== undefined) ? kept : undefined,
    },
  };
}

/** Gives each new key the next number. */
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

/** One deliberate mistake in the sources. `original` must be in the file exactly once; otherwise planting fails. */
export type Mutant = {
  readonly name: string;
  /** The path from the root of the repository. */
  readonly file: string;
  readonly original: string;
  readonly mutated: string;
};

/** Five mistakes that are easy to make in tree training. */
export const mutants: readonly Mutant[] = [
  {
    name: 'a token is seen one beyond the end of its subtree: `<` for `<=` in the mask',
    file: 'trainer/src/backbones/embedded/training/microbatches/attention-bias.ts',
    original: 'last.end <= token;',
    mutated: 'last.end < token;',
  },
  {
    name: 'a token has its packed index as position, not its depth in the row',
    file: 'trainer/src/packing/write-pack.ts',
    original: 'arrays.positions[index] = segment.start + index - segment.offset;',
    mutated: 'arrays.positions[index] = index;',
  },
  {
    name: 'the target is the next packed token',
    file: 'trainer/src/packing/write-pack.ts',
    original: 'targets: targetsAt.map((index) => ids[index] as number)',
    mutated: 'targets: targetsAt.map((index) => ids[(predictorOf[index] as number) + 1] as number)',
  },
  {
    name: 'a token that several rows of an episode share counts in each of them',
    file: 'trainer/src/packing/supervision.ts',
    original: 'return seen.add(key).size > size;',
    mutated: 'return seen.add(key).size >= size;',
  },
  {
    name: 'weights are normalized within a pack, not over the whole step',
    file: 'trainer/src/packing/write-pack.ts',
    original: 'terms.weights.fill(supervision.weights[row] ?? 0, next, next + positions.length);',
    mutated: 'terms.weights.fill(1 / numTerms, next, next + positions.length);',
  },
];

/** The tests that must notice the mistakes. */
export const killers: readonly string[] = [
  'trainer/src/packing/',
  'trainer/src/backbones/embedded/training/tree-equals-rows.test.ts',
];

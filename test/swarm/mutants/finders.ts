/** What can find a mutant: a scripted scenario, or the simulation of a seed. */
export type Finder = { readonly scenario: string } | { readonly seed: number };

export type HuntOrder = {
  /** What is tried first. */
  readonly first: readonly Finder[];
  /** How many seeds are simulated if nothing else finds a violation. */
  readonly maxRuns: number;
};

export type Hunt = {
  readonly killedBy: Finder | 'an unhandled rejection' | null;
  /** How many seeds from 1 on were simulated until one found a violation. 0 means that none was needed. */
  readonly runs: number;
  readonly violation: string | null;
};

/** What found each mutant last, by name. `npm run swarm:mutants -- --keep` writes it. */
export type FoundBy = Readonly<Record<string, Finder>>;

export function describeFinder(killedBy: NonNullable<Hunt['killedBy']>): string {
  if (killedBy === 'an unhandled rejection') return killedBy;
  return 'seed' in killedBy ? `seed ${killedBy.seed}` : `the scenario "${killedBy.scenario}"`;
}

import type { Mutant } from './mutants.js';

/** Returns the source with the mutant in it. Throws if the original text is not there exactly once. */
export function plantMutant({ name, file, original, mutated }: Mutant, source: string): string {
  const count = source.split(original).length - 1;
  if (count !== 1)
    throw new Error(
      `Cannot plant "${name}": ${file} holds ${JSON.stringify(original)} ${count} times. Bring test/mutants/mutants.ts up to date.`,
    );
  return source.replace(original, () => mutated);
}

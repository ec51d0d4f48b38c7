import type { NightlyOutcome } from './nightly-job.js';

/** The outcome of one framework or program: why it could not be installed, or what is wrong with its episode. */
export type EpisodeResult = { readonly skipped: string } | { readonly complaints: readonly string[] };

/** Runs an episode of each name, one after the other. `what` is the plural noun for the names. */
export async function runEach<Name extends string>(
  what: string,
  names: readonly Name[],
  runOne: (name: Name) => Promise<EpisodeResult>,
): Promise<NightlyOutcome> {
  const results: Partial<Record<Name, EpisodeResult>> = {};
  for (const name of names) results[name] = await runOne(name);
  const all = Object.values<EpisodeResult | undefined>(results).filter((result) => result !== undefined);
  const numSkipped = all.filter((result) => 'skipped' in result).length;
  const numFailed = all.filter((result) => 'complaints' in result && result.complaints.length > 0).length;
  const numPassed = all.length - numSkipped - numFailed;
  return {
    passed: numFailed === 0 && numPassed > 0,
    summary: `${numPassed} ${what} ran an episode, ${numFailed} failed, ${numSkipped} could not be installed`,
    details: { [what]: results },
  };
}

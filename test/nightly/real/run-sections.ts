import { run as runBench } from '../../bench/real/bench.js';
import type { NightlyOutcome } from '../nightly-job.js';

type Summary = Readonly<Record<string, unknown>>;

export const needsModel: NightlyOutcome = {
  passed: false,
  isSkipped: true,
  summary: 'it needs: npx ajet model get smollm2-135m',
  details: {},
};

export type SectionOptions = {
  readonly keep: (soFar: NightlyOutcome) => void;
  /** Returns a sentence for each figure that misses its bar. */
  readonly findShortfalls: (summary: Summary) => readonly string[];
  /** The summary if nothing is missing. */
  readonly success: string;
  /** Settings of the training that differ from those of the tutorial, such as `sft.epochs=1`. */
  readonly settings?: readonly string[];
  /** Measures some sections. Default: `npm run bench -- real`. */
  readonly bench?: typeof runBench;
};

/** Measures sections of `npm run bench -- real` one after the other, and keeps the result after each. */
export async function runSections(
  names: readonly string[],
  { keep, findShortfalls, success, settings = [], bench = runBench }: SectionOptions,
): Promise<NightlyOutcome> {
  const summary: Record<string, unknown> = {};
  const missing: unknown[] = [];
  const sections: Record<string, unknown> = {};
  const describe = (): NightlyOutcome => {
    const shortfalls = findShortfalls(summary);
    return {
      passed: shortfalls.length === 0,
      summary: shortfalls.length === 0 ? success : shortfalls.join('; '),
      details: { ...summary, missing: [...missing], sections: { ...sections } },
    };
  };
  for (const name of names) {
    const measured = await bench({
      args: ['--only', name, ...settings.flatMap((setting) => ['--set', setting])],
      report: (line) => console.error(line),
      waitUntilQuiet: async () => undefined,
    });
    Object.assign(summary, measured.summary);
    Object.assign(sections, measured.details['sections']);
    missing.push(...(measured.details['missing'] as readonly unknown[]));
    keep(describe());
  }
  return describe();
}

import { run as runBench } from '../bench/doors/bench.js';
import type { AtifResult } from '../bench/atif/bench.js';
import type { AdapterCell } from '../bench/doors/try-adapters.js';
import type { NightlyOutcome } from './nightly-job.js';

/**
 * Tries our packages in the projects that people have: types, package managers, bundlers, test runners, mistakes. Also
 * runs the contract suite of each adapter, and reads back trajectories in ATIF.
 */
export async function run(): Promise<NightlyOutcome> {
  const report = (line: string): void => console.log(line);
  const { summary } = await runBench({ report, args: [], waitUntilQuiet: async () => undefined });
  const { projects, install_mb: megabytes, adapters, atif } = summary as DoorsSummary;
  const failed = [
    ...namesWhere(projects, (outcome) => outcome !== 'ok'),
    ...namesWhere(adapters, ({ contract, fidelity }) => !contract || !fidelity),
    ...(atif.valid === atif.documents && atif.round_trip_equal === atif.documents ? [] : ['atif']),
    ...(megabytes <= 150 ? [] : ['install_mb']),
  ];
  const works = failed.length === 0 ? 'Everything works' : `These do not work: ${failed.join(', ')}`;
  return {
    passed: failed.length === 0,
    summary: `${works}; ${Object.keys(projects).length} projects and ${Object.keys(adapters).length} adapters were tried; npm install agentjet brings ${megabytes} MB`,
    details: summary,
  };
}

type DoorsSummary = {
  readonly projects: Readonly<Record<string, string>>;
  readonly install_mb: number;
  readonly adapters: Readonly<Record<string, AdapterCell>>;
  readonly atif: AtifResult;
};

const namesWhere = <T>(cells: Readonly<Record<string, T>>, isBad: (cell: T) => boolean): readonly string[] =>
  Object.keys(cells).filter((name) => isBad(cells[name] as T));

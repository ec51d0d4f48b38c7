import { BackboneError, quoteForShell } from '@agentjet/core';
import type { EpisodeIndex, EpisodeRow } from '@agentjet/run-folder';

/** Which episodes of a run to show, and in which order. */
export type EpisodeSelection = {
  /** Only episodes without success. */
  readonly failed?: boolean;
  readonly task?: string;
  readonly step?: number;
  readonly kind?: string;
  readonly phase?: EpisodeRow['phase'];
  /** Lowest reward first, or longest first. Default: as recorded. */
  readonly sort?: 'reward' | 'seconds' | 'tokens';
};

/** `seen`: how many episodes the run has of the step and the phase that were asked for. */
export type SelectedEpisodes = { readonly rows: readonly EpisodeRow[]; readonly seen: number };

/**
 * Selects episodes of a run. Throws BackboneError `no_episode` if the run has no such step, task or kind, because the
 * name is then probably misspelled.
 */
export async function selectEpisodes(
  index: EpisodeIndex,
  runDir: string,
  selection: EpisodeSelection,
): Promise<SelectedEpisodes> {
  const { failed = false, task, kind, phase, sort } = selection;
  const recorded = await readRows(index, runDir, selection.step);
  const all = recorded.filter((row) => phase === undefined || row.phase === phase);
  const place = selection.step === undefined ? `The run ${runDir}` : `Step ${selection.step} of ${runDir}`;
  if (task !== undefined) requireName(task, { names: all.map((row) => row.task_id), what: 'task', place });
  if (kind !== undefined) requireKind(kind, all, { place, field: index.keys.kindField });
  const rows = all.filter(
    (row) =>
      (!failed || !row.is_success) &&
      (task === undefined || row.task_id === task) &&
      (kind === undefined || row.kind === kind),
  );
  return { rows: sort === undefined ? rows : rows.toSorted(orders[sort]), seen: all.length };
}

const orders = {
  reward: (one: EpisodeRow, other: EpisodeRow) => (one.reward ?? -Infinity) - (other.reward ?? -Infinity) || 0,
  seconds: (one: EpisodeRow, other: EpisodeRow) => other.seconds - one.seconds,
  tokens: (one: EpisodeRow, other: EpisodeRow) => other.generated_tokens - one.generated_tokens,
} as const;

async function readRows(index: EpisodeIndex, runDir: string, step: number | undefined): Promise<readonly EpisodeRow[]> {
  const steps = await index.steps();
  if (steps.length === 0) throw noEpisode(`The run ${runDir} has no episodes, because no step was finished.`);
  if (step !== undefined && !steps.includes(step))
    throw noEpisode(`The run ${runDir} has no episodes of step ${step}. It has those of ${listSteps(steps)}.`);
  const rows: EpisodeRow[] = [];
  for (const each of step === undefined ? steps : [step]) for (const row of await index.rowsOf(each)) rows.push(row); // a step may have more rows than a call has arguments
  return rows;
}

/** Formats steps as `steps 0-14, 20`. */
function listSteps(steps: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const step of steps) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] === step - 1) range[1] = step;
    else ranges.push([step, step]);
  }
  const shown = ranges.slice(0, 8).map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return `${steps.length === 1 ? 'step' : 'steps'} ${shown.join(', ')}${ranges.length > 8 ? ', ...' : ''}`;
}

type Names = { readonly names: readonly string[]; readonly what: 'task' | 'kind'; readonly place: string };

function requireName(wanted: string, { names, what, place }: Names): void {
  const known = [...new Set(names)];
  if (known.includes(wanted)) return;
  const near = known.filter((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  const shown = (near.length > 0 ? near : known).slice(0, 5);
  const end = (near.length > 0 ? near : known).length > 5 ? ', ...' : '.';
  throw noEpisode(
    `${place} has no ${what} ${JSON.stringify(wanted)}. ${near.length > 0 ? 'Similar names' : `It has ${known.length} ${what}s`}: ${shown.map((name) => quoteForShell(name)).join(', ')}${end}`,
  );
}

function requireKind(
  wanted: string,
  rows: readonly EpisodeRow[],
  { place, field }: { readonly place: string; readonly field: string | null },
): void {
  const names = rows.flatMap(({ kind }) => kind ?? []);
  if (names.length > 0) return requireName(wanted, { names, what: 'kind', place });
  const why =
    field === null
      ? 'trainer_common.report_by is null'
      : `the metadata of its tasks has no ${JSON.stringify(field)}, which trainer_common.report_by names`;
  throw noEpisode(`${place} has no kinds of tasks: ${why}.`);
}

const noEpisode = (message: string): BackboneError => new BackboneError('no_episode', message);

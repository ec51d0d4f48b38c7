import { EpisodeStore, selectRows, type EpisodeFilter } from '../page-logic/episode-store.js';
import { groupsOfStep } from '../page-logic/groups-of-step.js';
import type { StudioRun } from './studio-run.js';

const maxRows = 200;

/** Reads the step of a query. Undefined for all steps. */
export const toStep = (text = ''): number | undefined => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);

/** Returns episodes as objects, with question and answer. The filter has the form of the page's address. */
export async function listRows(
  run: StudioRun,
  filter: EpisodeFilter & { readonly limit?: string; readonly find?: string },
): Promise<object> {
  const store = await readStore(run);
  const words = filter.find ?? '';
  const searched = words === '' ? undefined : await run.search(words, toStep(filter.step));
  const found = selectRows(store, filter, searched && new Set(searched.refs));
  const limit = Math.min(maxRows, Number(filter.limit ?? 50) || 50);
  const rows = Array.from(found.subarray(0, limit));
  const outcomes = await run.outcomes(rows.map((row) => store.refOf(row)));
  return {
    found: found.length,
    of: store.length,
    ...(searched?.isCut === true && { searched: 'only the newest episodes' }),
    rows: rows.map((row) => ({ ...describeRow(store, row), ...outcomes[store.refOf(row)] })),
  };
}

/** Returns the groups and metrics of a step or of its evaluation. Undefined if the step has no episodes. */
export async function viewStep(run: StudioRun, step: number, isEvaluation: boolean): Promise<object | undefined> {
  const store = await readStore(run);
  const groups = groupsOfStep(store, step, isEvaluation);
  if (groups.length === 0) return undefined;
  const { steps, evaluations } = await run.metrics('');
  return {
    step,
    metrics: (isEvaluation ? evaluations : steps).findLast((line) => line.step === step) ?? null,
    groups: groups.map(({ rows, ...group }) => ({ ...group, episodes: rows.map((row) => describeRow(store, row)) })),
  };
}

async function readStore(run: StudioRun): Promise<EpisodeStore> {
  const store = new EpisodeStore();
  store.append(await run.episodes(''));
  return store;
}

const describeRow = (store: EpisodeStore, row: number) => ({
  id: store.id[row],
  step: store.step[row],
  phase: store.evaluation[row] === 1 ? 'evaluation' : 'train',
  task: store.task[row],
  group: store.group[row],
  ...(store.kind[row] !== '' && { kind: store.kind[row] }),
  repeat: store.repeat[row],
  reward: store.reward[row],
  success: store.success[row] === 1,
  ...(store.error[row] !== '' && { error_code: store.error[row] }),
  tokens: store.tokens[row],
  seconds: store.seconds[row],
  ...(store.forks[row] !== '' && { forks: store.forks[row] }),
  ...((store.toolErrors[row] ?? 0) > 0 && { tool_errors: store.toolErrors[row] }),
  ...((store.refused[row] ?? 0) > 0 && { calls_refused: store.refused[row] }),
});

import { gzipSync } from 'node:zlib';
import { BackboneError, sha256 } from '@agentjet/core';
import { EpisodeStore, selectRows } from '../page-logic/episode-store.js';
import { formatRoute } from '../page-logic/route.js';
import { StudioRuns } from '../runs/studio-runs.js';
import type { StudioRun } from '../runs/studio-run.js';
import { readPageFiles, type PageFiles } from '../server/page-files.js';
import type { RunOverview } from '../wire.js';

export type ExportOptions = {
  /** A filter as the page has it in its address, such as `result=failure&step=60`. Default: the last step. */
  readonly episodes?: string;
  /** The id of the episode that the file opens with. Default: it opens with the run. */
  readonly opensEpisode?: string;
  /** The most episodes that are exported with their tokens, the newest first. Default: 200. */
  readonly maxEpisodes?: number;
  /** Leaves out what agents, models, judges and people wrote, and keeps the figures. */
  readonly isRedacted?: boolean;
};

export type ExportedRun = {
  readonly html: string;
  /** Episodes with their tokens, and all of the run. */
  readonly episodes: number;
  readonly allEpisodes: number;
};

/** Returns the page of one run as one file that needs no server and no network. Throws BackboneError `run_folder`. */
export async function exportRunPage(runDir: string, options: ExportOptions = {}): Promise<ExportedRun> {
  const runs = new StudioRuns(runDir);
  const list = await runs.list();
  const [summary] = list.runs;
  const run = summary && (await runs.find(summary.id));
  if (run === undefined || list.runs.length > 1)
    throw new BackboneError(
      'run_folder',
      `${runDir} ${run === undefined ? 'is not a run folder' : `contains ${list.runs.length} runs`}. Name one run, <experiment_dir>/<experiment_name>/<time>.`,
    );
  const { answers, episodes, allEpisodes } = await collectAnswers(run, options);
  answers['runs'] = { ...list, folder: options.isRedacted === true ? '' : list.folder };
  const { id } = run.found;
  const start =
    options.opensEpisode === undefined
      ? formatRoute({ view: 'overview', run: id })
      : formatRoute({ view: 'episode', run: id, item: options.opensEpisode });
  return { html: renderExport(readPageFiles(), { answers, start }), episodes, allEpisodes };
}

type Answers = Record<string, unknown>;

/** The answers of the server that the page asks for, by their paths. */
async function collectAnswers(run: StudioRun, { episodes, maxEpisodes = 200, isRedacted = false }: ExportOptions) {
  const base = `runs/${run.found.id}`;
  const overview = await run.overview();
  const columns = await run.episodes('');
  const answers: Answers = {
    [base]: isRedacted ? redact(overview) : overview,
    [`${base}/metrics?after=`]: await run.metrics(''),
    [`${base}/episodes?after=`]: columns,
    [`${base}/system`]: await run.system(),
  };
  const store = new EpisodeStore();
  store.append(columns);
  const filter = episodes ?? `step=${Math.max(0, ...columns.step)}`;
  const chosen = [...selectRows(store, Object.fromEntries(new URLSearchParams(filter)))].slice(-maxEpisodes);
  if (isRedacted) return { answers, episodes: 0, allEpisodes: store.length };
  answers[`${base}/findings`] = await run.findings();
  answers[`${base}/outcomes`] = await run.outcomes([
    ...refsOfTasks(overview),
    ...chosen.map((row) => store.refOf(row)),
  ]);
  await addEpisodes(answers, run, store, chosen);
  const last = overview.run.step;
  answers[`${base}/times?step=${last}`] = await run.times(last);
  return { answers, episodes: chosen.length, allEpisodes: store.length };
}

async function addEpisodes(
  answers: Answers,
  run: StudioRun,
  store: EpisodeStore,
  rows: readonly number[],
): Promise<void> {
  const base = `runs/${run.found.id}`;
  const addEpisode = async (id: string): Promise<void> => {
    answers[`${base}/episode?id=${encodeURIComponent(id)}`] ??= await run.episode(id);
  };
  for (const row of rows) {
    const [group, step, task] = [store.group[row] ?? '', store.step[row] ?? 0, store.task[row] ?? ''];
    await addEpisode(store.id[row] ?? '');
    answers[`${base}/group?id=${encodeURIComponent(group)}&step=${step}`] ??= await run.group(group, step);
    if (store.evaluation[row] !== 1) continue;
    const view = await run.task(task);
    answers[`${base}/task?id=${encodeURIComponent(task)}`] = view;
    await addEpisode(view?.episodes[0]?.id ?? ''); // the page compares it with the newest one
  }
}

const refsOfTasks = ({ tasks }: RunOverview): readonly string[] =>
  tasks.flatMap(({ before, after }) => (after ?? before)?.ref ?? []);

/** Keeps figures and names of tasks. */
function redact(overview: RunOverview): RunOverview {
  const { problem: _problem, ...run } = overview.run;
  return { ...overview, run, settings: {}, events: [] };
}

type Exported = { readonly answers: Answers; readonly start: string };

function renderExport(page: PageFiles, { answers, start }: Exported): string {
  const textOf = (name: string): string => new TextDecoder().decode(page.get(name)?.body);
  // A script ends at the first end tag in it, even inside a string.
  const script = textOf('/assets/app.js').replaceAll('</script', String.raw`<\/script`);
  const style = textOf('/assets/app.css');
  const data = gzipSync(JSON.stringify(answers), { level: 9 }).toString('base64');
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="color-scheme" content="light dark"><title>AgentJet studio</title>',
    `<style>${style}</style></head><body><div id="app"></div>`,
    `<script type="application/octet-stream" id="run-data" data-start="${encodeURIComponent(start)}">${data}</script>`,
    `<script type="module">${script}</script></body></html>`,
    '',
  ].join('\n');
}

const hashOf = (text: string): string => `'sha256-${sha256(text, 'base64')}'`;

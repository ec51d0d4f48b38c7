import { isView, parseRoute, type PageRoute } from '../page-logic/route.js';
import type { EpisodeView } from '../wire.js';
import type { StudioRun } from '../runs/studio-run.js';
import type { StudioRuns } from '../runs/studio-runs.js';

/** A link of a report to a view of the studio. It has a `problem` if the runs do not contain what it names. */
export type CheckedLink = { readonly line: number; readonly address: string; readonly problem?: string };

const linkPattern = /#\/(?:run|compare)[^\s)>\]"'`|]*/g;

/** Checks every link to a run, a step, an episode, a token or a quote in a report in Markdown. */
export async function checkLinks(runs: StudioRuns, markdown: string): Promise<readonly CheckedLink[]> {
  const checked: CheckedLink[] = [];
  for (const [at, text] of markdown.split('\n').entries())
    for (const [address] of text.matchAll(linkPattern)) {
      const problem = await findProblem(runs, address);
      checked.push({ line: at + 1, address, ...(problem !== undefined && { problem }) });
    }
  return checked;
}

async function findProblem(runs: StudioRuns, address: string): Promise<string | undefined> {
  const route = parseRoute(address);
  const view = address.split('?')[0]?.split('/')[3] ?? '';
  if (view !== '' && !isView(view)) return `there is no view ${JSON.stringify(view)}`;
  const ids = route.view === 'compare' ? (route.query['runs'] ?? '').split(',') : [route.run];
  const found = await Promise.all(ids.map((id) => runs.find(id)));
  const missing = ids.find((_id, at) => found[at] === undefined);
  if (missing !== undefined) return `there is no run ${JSON.stringify(missing)} below ${runs.folder}`;
  const [run] = found;
  return run === undefined ? 'it names no run' : findProblemInRun(run, route);
}

async function findProblemInRun(run: StudioRun, route: PageRoute): Promise<string | undefined> {
  const { view, item, query } = route;
  const missing = `${run.found.path} has no ${view} ${JSON.stringify(item)}`;
  if (view === 'task') return (await run.task(item)) === undefined ? missing : undefined;
  if (view === 'group') return (await run.group(item, Number(query['step']))) === undefined ? missing : undefined;
  if (view === 'step') return (await run.episodes('')).step.includes(Number(item)) ? undefined : missing;
  if (view !== 'episode') return undefined;
  const episode = await run.episode(item);
  return episode === undefined ? missing : findProblemInEpisode(episode, query);
}

function findProblemInEpisode(episode: EpisodeView, { token, quote }: PageRoute['query']): string | undefined {
  if (token !== undefined && !(/^\d+$/.test(token) && Number(token) < episode.treeTokens))
    return `the episode has ${episode.treeTokens} tokens, and no token ${JSON.stringify(token)}`;
  if (quote === undefined || quote === '') return undefined;
  const { said, outcome } = episode;
  const texts = [...said.map(({ text }) => text), ...Object.values(outcome)];
  return texts.some((text) => text.includes(quote)) ? undefined : `nobody says ${JSON.stringify(quote)} in the episode`;
}

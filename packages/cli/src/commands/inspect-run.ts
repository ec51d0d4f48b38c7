import { resolve } from 'node:path';
import { AgentJetError, quoteForShell } from '@agentjet/core';
import {
  choosePalette,
  findChanges,
  formatEpisode,
  formatEpisodeList,
  formatTokens,
  inspectEpisode,
  summarizeEpisodes,
  writeAtif,
} from '@agentjet/inspect';
import type { InspectFlags } from '../inspect-program.js';
import { asksForOutcomes, showComparison, showEpisodeAsJson, showOutcomes } from './inspect-outcomes.js';
import { toFlag } from './read-flags.js';
import { writePageFile } from './write-page-file.js';

/** Runs `ajet inspect` and returns the exit code. */
export async function inspectRun(run: string, episode: string | undefined, flags: InspectFlags): Promise<number> {
  const { html = false, tokens = false } = flags;
  if (flags.atif !== undefined) return exportAtif(run, episode, flags);
  // In `--html <run> <episode>`, the parser mistakes the run for the output path of `--html`.
  if (episode === undefined && typeof html === 'string') return inspectRun(html, run, { html: true });
  if (episode === undefined && html === true)
    throw new AgentJetError(
      'no_episode',
      `--html writes the page of one episode: ajet inspect ${quoteForShell(run)} <episode> --html. \`ajet studio export ${quoteForShell(run)}\` writes the page of the whole run.`,
    );
  const { json = false, ...others } = flags;
  const isOneAsJson = json && episode !== undefined && Object.keys(others).length === 0;
  if (asksForOutcomes(flags) && !isOneAsJson) refuseWithOutcomes(episode, flags);
  for (const change of await findChanges(run)) console.error(`notice: ${change}`);
  if (isOneAsJson) await showEpisodeAsJson(run, episode);
  else if (flags.beforeAfter === true) await showComparison(run, flags);
  else if (asksForOutcomes(flags)) await showOutcomes(run, flags);
  else if (episode === undefined) await printEpisodes(run);
  else if (html === false) await printEpisode(run, episode, tokens);
  else await writePage(run, episode, html);
  return 0;
}

async function exportAtif(run: string, episode: string | undefined, { atif = '', ...flags }: InspectFlags) {
  const [other] = Object.entries(flags).find(([name, value]) => name !== 'json' && value !== undefined) ?? [];
  if (other !== undefined)
    throw new AgentJetError('wrong_value', `--atif writes whole episodes and does not go with ${toFlag(other)}.`);
  const folder = resolve(atif);
  const written = await writeAtif(run, folder, episode);
  const empty = written.empty === 0 ? '' : `; ${written.empty} episodes have no call, and so no document`;
  const line = `${folder}: ${written.documents} documents of ${written.episodes} episodes${empty}`;
  if (flags.json === true) {
    console.error(line);
    console.log(JSON.stringify({ folder, ...written }));
  } else console.log(line);
  return 0;
}

/** Flags that select episodes do not go together with those that show one. */
function refuseWithOutcomes(episode: string | undefined, { html, tokens, ...flags }: InspectFlags): void {
  const [name = ''] = Object.entries(flags).find(([, value]) => value !== undefined) ?? [];
  const flag = toFlag(name);
  if (episode !== undefined)
    throw new AgentJetError(
      'wrong_value',
      `${flag} selects episodes, but ${JSON.stringify(episode)} is named. Leave out one of them.`,
    );
  const other = html !== undefined ? '--html' : tokens === undefined ? undefined : '--tokens';
  if (other !== undefined)
    throw new AgentJetError(
      'wrong_value',
      `${other} shows one episode and does not go with ${flag}. Name the episode.`,
    );
}

async function printEpisodes(run: string): Promise<void> {
  let hasEpisodes = false;
  for await (const line of formatEpisodeList(summarizeEpisodes(run))) {
    hasEpisodes = true;
    console.log(line);
  }
  if (!hasEpisodes) console.log(`${run} has no episodes, because no step was finished.`);
}

async function printEpisode(run: string, episodeId: string, isTable: boolean): Promise<void> {
  const episode = await inspectEpisode(run, episodeId);
  const lines = [...(isTable ? formatTokens(episode) : formatEpisode(episode, choosePalette(process.stdout)))];
  console.log(lines.join('\n'));
}

async function writePage(run: string, prefix: string, target: string | true): Promise<void> {
  const { episode_id: id } = (await inspectEpisode(run, prefix)).record;
  const file = resolve(target === true ? `${id.replaceAll(/[^\w.-]/g, '_')}.html` : target);
  const { exportRunPage } = await import('@agentjet/studio');
  const { html } = await exportRunPage(run, {
    episodes: new URLSearchParams({ episode: id }).toString(),
    opensEpisode: id,
  });
  writePageFile(file, html, '--html');
  console.log(file);
}

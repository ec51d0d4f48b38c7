import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { AgentJetError, toErrorMessage } from '@agentjet/core';
import { inspectEpisode, listEpisodes } from 'agentjet';
import { formatEpisode } from '../inspect/format-episode.js';
import { formatTokens } from '../inspect/format-tokens.js';
import { makeVisible } from '../inspect/make-visible.js';
import { choosePalette } from '../inspect/palette.js';
import { renderPage } from '../inspect/render-page.js';
import type { InspectFlags } from '../program.js';

/** `ajet inspect`. Returns the exit code. */
export async function inspectRun(
  run: string,
  episode: string | undefined,
  { html = false, tokens = false }: InspectFlags,
): Promise<number> {
  // `--html <run> <episode>` reads as if the run were the page's file.
  if (episode === undefined && typeof html === 'string') return inspectRun(html, run, { html: true });
  if (episode === undefined) await printEpisodes(run);
  else if (html === false) await printEpisode(run, episode, tokens);
  else await writePage(run, episode, html);
  return 0;
}

async function printEpisodes(run: string): Promise<void> {
  let numListed = 0;
  for await (const episode of listEpisodes(run)) {
    if (numListed++ === 0) console.log('step  reward  tokens  trained  samples  status     episode');
    const reward = episode.reward === null ? '-' : episode.reward.toFixed(3);
    const columns = [
      String(episode.step).padStart(4),
      reward.padStart(6),
      String(episode.generatedTokens).padStart(6),
      String(episode.trainedTokens).padStart(7),
      String(episode.samples).padStart(7),
      episode.status.padEnd(9),
      episode.episodeId,
    ];
    console.log(makeVisible(columns.join('  ')));
  }
  if (numListed === 0) console.log(`${run} holds no episodes: no step was finished.`);
}

async function printEpisode(run: string, episodeId: string, isTable: boolean): Promise<void> {
  const episode = await inspectEpisode(run, episodeId);
  const lines = [...(isTable ? formatTokens(episode) : formatEpisode(episode, choosePalette(process.stdout)))];
  console.log(lines.join('\n'));
}

async function writePage(run: string, episodeId: string, target: string | true): Promise<void> {
  const episode = await inspectEpisode(run, episodeId);
  const file = path.resolve(target === true ? `${episode.record.episode_id.replaceAll(/[^\w.-]/g, '_')}.html` : target);
  try {
    writeFileSync(file, renderPage(episode));
  } catch (cause) {
    throw new AgentJetError(
      'unwritable_page',
      `Cannot write the page: ${toErrorMessage(cause)}. Name another file: --html <file>.`,
      { cause },
    );
  }
  console.log(file);
}

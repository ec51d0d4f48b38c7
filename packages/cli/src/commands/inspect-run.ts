import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { listEpisodes, loadRunTokenizer, readEpisode } from 'agentjet';
import type { InspectFlags } from '../program.js';
import { formatTimelines, renderTimelines } from './show-timeline.js';

async function printEpisodes(run: string): Promise<void> {
  console.log('step  reward  tokens  samples  status     episode');
  for await (const episode of listEpisodes(run)) {
    const reward = episode.reward === null ? '-' : episode.reward.toFixed(3);
    const columns = [String(episode.step).padStart(4), reward.padStart(6), String(episode.generatedTokens).padStart(6), String(episode.samples).padStart(7), episode.status.padEnd(9), episode.episodeId];
    console.log(columns.join('  '));
  }
}

/** `ajet inspect`. Returns the exit code. */
export async function inspectRun(run: string, episode: string | undefined, flags: InspectFlags): Promise<number> {
  if (episode === undefined) {
    await printEpisodes(run);
    return 0;
  }
  const record = await readEpisode(run, episode);
  const tokenizer = await loadRunTokenizer(run);
  const decode = (id: number): string => tokenizer.decode([id]);
  if (flags.html !== undefined && flags.html !== false) {
    const file = path.resolve(flags.html === true ? `${record.episode_id}.html` : flags.html);
    writeFileSync(file, renderTimelines(record, decode));
    console.log(file);
  } else console.log(formatTimelines(record, decode, { colours: process.stdout.isTTY }));
  return 0;
}

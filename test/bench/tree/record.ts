/**
 * Keeps a group of recorded episodes for the benchmark, with one row for each model call: `tsx
 * test/bench/tree/record.ts <run>/episodes/step-000001.jsonl <beginning of the episodes' ids>`. werewolves.json is a
 * group of tutorial/werewolves, sampled by the nano model.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { EpisodeRecord } from '@agentjet/run-folder';
import { recordedFile, type RecordedEpisode } from './recorded-episodes.js';

const [file = '', prefix = ''] = process.argv.slice(2);

function toRecorded({
  episode_id: episodeId,
  samples,
  turns,
}: EpisodeRecord & { readonly turns?: readonly Record<string, number>[] }): RecordedEpisode {
  if (turns === undefined) throw new Error(`${episodeId} was kept without its turns.`);
  return {
    episodeId,
    rows: samples.map((sample) => ({ agentName: sample.agent_name, ids: sample.ids })),
    calls: turns
      .filter(({ sample }) => sample !== null)
      .map(
        ({ sample = -1, prompt_tokens: prompt = 0, generated_tokens: generated = 0 }) =>
          [sample, prompt, generated] as const,
      ),
  };
}

const records = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as EpisodeRecord);
const episodes = records.filter(({ episode_id: id }) => id.startsWith(prefix)).map((record) => toRecorded(record));
writeFileSync(recordedFile, `[\n${episodes.map((episode) => JSON.stringify(episode)).join(',\n')}\n]\n`);
console.log(`${path.relative(process.cwd(), recordedFile)}: ${episodes.length} episodes`);

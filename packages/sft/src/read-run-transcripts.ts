import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, isJsonObject } from '@agentjet/core';
import { openRunFolder, type EpisodeRecord, type SampleRecord } from '@agentjet/run-folder';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { Transcript } from './conversation.js';
import type { ExampleRow } from './example.js';
import { transcriptsFile } from '@agentjet/records';
import { readJsonlTranscripts, type ReadTranscripts } from './read-jsonl-transcripts.js';

export type RunReaderOptions = { readonly modelDir: string; readonly chatTokenizer: ChatTokenizer };

/**
 * Reads the transcripts of a run folder: its collected conversations, or the tokens of the episodes that it trained on.
 * Episodes of evaluations are never read.
 */
export async function readRunTranscripts(dir: string, options: RunReaderOptions): Promise<ReadTranscripts> {
  const file = path.join(dir, transcriptsFile);
  if (existsSync(file)) return readJsonlTranscripts(file, { isOwn: true });
  const run = await openRunFolder(dir);
  const changes = await run.findModelChanges(options.modelDir, (name) => /token|template|vocab|merges/.test(name));
  if (changes.length > 0)
    throw new ConfigError(
      'other_tokens',
      `The episodes of ${dir} are recorded as tokens of another model, whose files differ from those of ${options.modelDir}: ${changes.map(({ file }) => file).join(', ')}. ` +
        'Collect transcripts as messages: ajet --conf <file.yaml> --backbone=debug debug.collect=all',
    );
  const hash = createHash('sha256');
  const transcripts: Transcript[] = [];
  for (const step of await run.episodes.steps())
    for (const record of await run.episodes.readStep(step)) {
      if (record.phase === 'evaluation') continue;
      hash.update(JSON.stringify([record.episode_id, record.samples]));
      transcripts.push(toTranscript(record, `${dir}, episode ${record.episode_id}`, options));
    }
  if (transcripts.length === 0)
    throw new ConfigError(
      'no_transcripts',
      `The run ${dir} (sft.transcripts) has neither ${transcriptsFile} nor episodes.`,
    );
  return { transcripts, sha256: hash.digest('hex') };
}

function toTranscript(record: EpisodeRecord, place: string, { chatTokenizer }: RunReaderOptions): Transcript {
  const { episode_id: id, reward, is_success: isSuccess, status, task_id: taskId, samples } = record;
  const rows = samples.map((sample) => toRow(sample, place));
  return {
    id,
    place,
    conversations: [],
    tokens: {
      rows,
      taskId: typeof taskId === 'string' ? taskId : id,
      text: rows.map(({ ids }) => chatTokenizer.tokenizer.decode(ids)).join('\n'),
    },
    task: null,
    reward: typeof reward === 'number' ? reward : null,
    isSuccess: typeof isSuccess === 'boolean' ? isSuccess : null,
    hasFailed: status === 'failed',
  };
}

function toRow(sample: SampleRecord, place: string): ExampleRow {
  const {
    agent_name: agentName,
    target_tag: targetTag,
    ids,
    loss_mask: lossMask,
  }: Partial<SampleRecord> = isJsonObject(sample) ? sample : {};
  if (
    typeof agentName !== 'string' ||
    !Array.isArray(ids) ||
    !Array.isArray(lossMask) ||
    ids.length !== lossMask.length
  )
    throw new ConfigError(
      'bad_transcript',
      `${place} has a sample whose ids and loss_mask are missing or differ in length.`,
    );
  return {
    agentName,
    targetTag: targetTag ?? agentName,
    ids: Int32Array.from(ids),
    lossMask: Uint8Array.from(lossMask),
  };
}

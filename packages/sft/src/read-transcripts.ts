import { existsSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, type CommonConfig } from '@agentjet/core';
import { transcriptsFile } from '@agentjet/records';
import {
  checkIsFile,
  readAtifTranscripts,
  readJsonlTranscripts,
  type ReadTranscripts,
} from './read-jsonl-transcripts.js';
import { readRunTranscripts, type RunReaderOptions } from './read-run-transcripts.js';
import type { Transcript } from './conversation.js';

/** A source that `sft.transcripts` names. */
export type TranscriptSource = { readonly path: string; readonly sha256: string; readonly examples: number };

/**
 * Returns the files and run folders that `sft.transcripts` names, in this order. Reads no line of them. Throws
 * ConfigError `no_transcripts` if there are none, or if one is missing.
 */
export async function findTranscripts({ sft }: Pick<CommonConfig, 'sft'>): Promise<readonly string[]> {
  const paths = [sft.transcripts ?? []].flat();
  if (paths.length === 0)
    throw new ConfigError(
      'no_transcripts',
      'There is nothing to imitate. Set sft.transcripts to a run folder that debug.collect has made, to a JSONL file of {"messages": [...], "tools": [...]}, an ATIF document, or to a list of them.',
    );
  const files = (await Promise.all(paths.map(expand))).flat();
  for (const file of files) if (!isFolder(file)) await checkIsFile(file);
  return files;
}

/**
 * Reads all transcripts that `sft.transcripts` names, in this order. Throws ConfigError `no_transcripts`,
 * `bad_transcript` or `other_tokens`, which name file and line.
 */
export async function readTranscripts(
  config: Pick<CommonConfig, 'sft'>,
  options: RunReaderOptions,
): Promise<{ readonly transcripts: readonly Transcript[]; readonly sources: readonly TranscriptSource[] }> {
  const transcripts: Transcript[] = [];
  const sources: TranscriptSource[] = [];
  for (const file of await findTranscripts(config)) {
    const read = await readSource(file, options);
    sources.push({ path: file, sha256: read.sha256, examples: read.transcripts.length });
    transcripts.push(...withPlaces(read.transcripts, sources.length));
  }
  return { transcripts, sources };
}

const isRunFolder = (dir: string): boolean => existsSync(path.join(dir, 'config.yaml'));
const isFolder = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;

function readSource(file: string, options: RunReaderOptions): Promise<ReadTranscripts> {
  if (isFolder(file)) return readRunTranscripts(file, options);
  return file.endsWith('.json') ? readAtifTranscripts(file) : readJsonlTranscripts(file);
}

/**
 * Returns the paths to read. A folder that is not a run folder has them in `transcripts.jsonl`, as `ajet serve` keeps
 * conversations, or else in its JSONL files and its ATIF documents.
 */
async function expand(given: string): Promise<readonly string[]> {
  if (!isFolder(given) || isRunFolder(given)) return [given];
  const collected = path.join(given, transcriptsFile);
  if (existsSync(collected)) return [collected];
  const files = (await readdir(given)).filter((name) => /\.jsonl?$/.test(name)).toSorted();
  if (files.length > 0) return files.map((name) => path.join(given, name));
  throw new ConfigError(
    'no_transcripts',
    `The folder ${given} (sft.transcripts) is not a run folder and holds no .jsonl or .json files.`,
  );
}

/** Adds the number of the source to the ids, because episodes of different sources may have the same id. */
function withPlaces(transcripts: readonly Transcript[], source: number): readonly Transcript[] {
  if (source === 1) return transcripts;
  return transcripts.map((transcript) => ({ ...transcript, id: `${source}/${transcript.id}` }));
}

import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { ConfigError, parseJsonObject, toErrorMessage } from '@agentjet/core';
import { describeFileError } from '@agentjet/run-folder';
import type { Transcript } from './conversation.js';
import { BadLine, parseConversation, type ConversationLine } from './parse-conversation.js';

/** What a source holds, and the SHA-256 of its content. */
export type ReadTranscripts = { readonly transcripts: readonly Transcript[]; readonly sha256: string };

/**
 * The transcripts of a file with one JSON object per line. `isOwn`: the file is of a run folder, whose writer may have been
 * killed in the middle of the last line. Throws ConfigError `bad_transcript`, naming the line.
 */
export async function readJsonlTranscripts(file: string, { isOwn = false } = {}): Promise<ReadTranscripts> {
  await checkIsFile(file);
  const hash = createHash('sha256');
  const lines: { readonly number: number; readonly text: string }[] = [];
  let number = 0;
  try {
    for await (const text of createInterface({ input: hashed(file, hash), crlfDelay: Infinity })) {
      number++;
      const content = number === 1 ? text.replace(/^\uFEFF/, '') : text;
      if (content.trim() !== '') lines.push({ number, text: content });
    }
  } catch (error) {
    throw new ConfigError('bad_transcript', describeFileError(file, error), { cause: error });
  }
  const read = lines.flatMap((line, at) => {
    const isTorn = isOwn && at === lines.length - 1 && parseJsonObject(line.text) === undefined;
    return isTorn ? [] : [{ place: `${file}:${line.number}`, ...parseLine(line.text, `${file}:${line.number}`) }];
  });
  return { transcripts: toTranscripts(read), sha256: hash.digest('hex') };
}

function hashed(file: string, hash: Hash) {
  return createReadStream(file).on('data', (chunk) => hash.update(chunk));
}

async function checkIsFile(file: string): Promise<void> {
  const entry = await stat(file).catch((cause: unknown) => {
    throw new ConfigError(
      'no_transcripts',
      `There is nothing at ${file} (sft.transcripts): ${toErrorMessage(cause)}. Name a run folder, a JSONL file, or a folder of such files.`,
      { cause },
    );
  });
  if (!entry.isFile())
    throw new ConfigError('no_transcripts', `${file} (sft.transcripts) is neither a file nor a folder.`);
}

function parseLine(text: string, place: string): ConversationLine {
  const line = parseJsonObject(text);
  try {
    if (line === undefined) throw new BadLine(`it is not a JSON object: ${text.slice(0, 80)}`);
    return parseConversation(line);
  } catch (error) {
    if (!(error instanceof BadLine)) throw error;
    throw new ConfigError(
      'bad_transcript',
      `${place} is not a conversation: ${error.message} A line is {"messages": [...], "tools": [...]}; correct it or remove it.`,
      { cause: error },
    );
  }
}

/** Lines of one episode become one transcript, in the place of the first. */
function toTranscripts(lines: readonly (ConversationLine & { readonly place: string })[]): readonly Transcript[] {
  const episodes = new Map<string, Transcript>();
  for (const { conversation, episodeId, place, task, reward, isSuccess, hasFailed } of lines) {
    const key = episodeId === undefined ? place : `episode ${episodeId}`;
    const known = episodes.get(key);
    episodes.set(key, {
      ...(known ?? { id: episodeId ?? path.basename(place), place, task, reward, isSuccess, hasFailed }),
      conversations: [...(known?.conversations ?? []), conversation],
    });
  }
  return [...episodes.values()];
}

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, parseJsonObject, toErrorMessage, sha256 } from '@agentjet/core';
import { describeFileError } from '@agentjet/run-folder';
import type { Transcript } from './conversation.js';
import { BadLine, parseConversation, type ConversationLine } from './parse-conversation.js';
import { BadAtif, isAtif, readTrajectory, toConversations } from '@agentjet/atif';
import { readTranscriptLines, type TranscriptLine } from './transcript-lines.js';

/** The transcripts of a source, and the SHA-256 of its content. */
export type ReadTranscripts = { readonly transcripts: readonly Transcript[]; readonly sha256: string };

/**
 * Reads the transcripts of a file with one JSON object per line. `isOwn` means that the file belongs to a run folder,
 * whose writer may have been killed in the middle of the last line. Throws ConfigError `bad_transcript`, which names
 * the line.
 */
export async function readJsonlTranscripts(file: string, { isOwn = false } = {}): Promise<ReadTranscripts> {
  await checkIsFile(file);
  const hash = createHash('sha256');
  const lines: TranscriptLine[] = [];
  try {
    for await (const line of readTranscriptLines(file, (bytes) => hash.update(bytes))) lines.push(line);
  } catch (error) {
    throw new ConfigError('bad_transcript', describeFileError(file, error), { cause: error });
  }
  const read = lines.flatMap(({ number, text }, at) => {
    const isTorn = isOwn && at === lines.length - 1 && parseJsonObject(text ?? '') === undefined;
    const place = `${file}:${number}`;
    return isTorn ? [] : parseLine(text, place).map((parsed) => ({ place, ...parsed }));
  });
  return { transcripts: toTranscripts(read), sha256: hash.digest('hex') };
}

/** Throws ConfigError `no_transcripts` if there is no file. */
export async function checkIsFile(file: string): Promise<void> {
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

/** Reads a file with one ATIF document, as programs write it: printed over many lines. */
export async function readAtifTranscripts(file: string): Promise<ReadTranscripts> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new ConfigError('bad_transcript', describeFileError(file, error), { cause: error });
  });
  const text = isUtf8(bytes) ? bytes.toString().replace(/^\uFEFF/, '') : undefined;
  const read = parseLine(text, file).map((parsed) => ({ place: file, ...parsed }));
  return { transcripts: toTranscripts(read), sha256: sha256(bytes) };
}

/** Returns a conversation, or those of an ATIF document: one for its agent, and one for each subagent in it. */
function parseLine(text: string | undefined, place: string): readonly ConversationLine[] {
  try {
    if (text === undefined) throw new BadLine('it is not UTF-8. Save the file as UTF-8, not compressed.');
    const line = parseJsonObject(text);
    if (line === undefined) throw new BadLine(`it is not a JSON object: ${JSON.stringify(text.slice(0, 80))}.`);
    return isAtif(line) ? toConversations(readTrajectory(line)).map(parseConversation) : [parseConversation(line)];
  } catch (error) {
    if (error instanceof BadAtif)
      throw new ConfigError('bad_transcript', `${place} is not a trajectory: ${error.message}`, { cause: error });
    if (!(error instanceof BadLine)) throw error;
    throw new ConfigError(
      'bad_transcript',
      `${place} is not a conversation: ${error.message} A line is {"messages": [...], "tools": [...]}; correct it or remove it.`,
      { cause: error },
    );
  }
}

type PlacedLine = ConversationLine & { readonly place: string };

/** Joins the lines of an episode to one transcript, at the position of its first line. */
function toTranscripts(lines: readonly PlacedLine[]): readonly Transcript[] {
  const episodes = new Map<string, Transcript>();
  for (const line of lines) {
    const key = line.episodeId === undefined ? line.place : `episode ${line.episodeId}`;
    episodes.set(key, addLine(episodes.get(key), line));
  }
  return [...episodes.values()];
}

/**
 * Adds a line to its transcript. Any line of an episode may hold the verdict. If lines disagree, the worse verdict
 * counts.
 */
function addLine(known: Transcript | undefined, line: PlacedLine): Transcript {
  const { conversation, episodeId, place, task, reward, isSuccess, hasFailed } = line;
  if (known === undefined)
    return {
      id: episodeId ?? path.basename(place),
      place,
      conversations: [conversation],
      task,
      reward,
      isSuccess,
      hasFailed,
    };
  return {
    ...known,
    conversations: [...known.conversations, conversation],
    task: known.task ?? task,
    reward: known.reward === null || reward === null ? (known.reward ?? reward) : Math.min(known.reward, reward),
    isSuccess: known.isSuccess === false ? false : (isSuccess ?? known.isSuccess),
    hasFailed: known.hasFailed || hasFailed,
  };
}

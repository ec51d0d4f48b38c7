import { isUtf8 } from 'node:buffer';
import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isAtif } from '@agentjet/atif';
import { isJsonObject, parseJson, TaskError } from '@agentjet/core';
import { checkTaskFile, jsonlRows } from '@agentjet/data/tables';
import { isSilentEpisode, readAtifTraces, readExportedTrace, textOf } from './exported-traces.js';
import { isOtlp, readOtlpTraces } from './otlp-traces.js';
import { isSqlite, readStudioTraces } from './studio-traces.js';
import { readFeedback, type Feedback, type Trace } from './trace.js';

/** The maximum size of a file with one JSON value, which is read as a whole. */
const mostBytes = 256 * 2 ** 20;

/**
 * Reads traces from files: OTLP as JSON (whole, or one export per line), the database of AgentScope Studio, JSON Lines
 * of other tools, ATIF documents, and the conversations of run folders. The same answer in two files counts once. Throws TaskError with
 * file and line.
 */
export async function readTraces(files: readonly string[]): Promise<readonly Trace[]> {
  const traces = new Map<string, Trace>();
  for (const file of files)
    for (const read of await readFileTraces(file)) {
      const trace = withOwnId(read, traces);
      const earlier = traces.get(trace.id);
      traces.set(
        trace.id,
        earlier === undefined ? trace : { ...earlier, feedback: { ...earlier.feedback, ...trace.feedback } },
      );
    }
  return newestOfCalls([...traces.values()]);
}

/**
 * Gives the trace a unique id. Some tools number their traces from 1, so if another question has the same id, the trace
 * gets an id such as `1#2`.
 */
function withOwnId(trace: Trace, known: ReadonlyMap<string, Trace>): Trace {
  const question = JSON.stringify(trace.messages);
  for (let at = 1; ; at++) {
    const id = at === 1 ? trace.id : `${trace.id}#${at}`;
    const earlier = known.get(id);
    if (earlier !== undefined && JSON.stringify(earlier.messages) !== question) continue;
    return { ...trace, id, conversation: trace.conversation === trace.id ? id : trace.conversation };
  }
}

/**
 * Returns the feedback of users that `ajet serve --conversations` keeps next to the transcripts of these sources. Empty
 * if there is none.
 */
export function findFeedback(sources: readonly string[]): readonly string[] {
  const files = sources.map(fileOf).filter((file) => path.basename(file) === 'transcripts.jsonl');
  return files.map((file) => path.join(path.dirname(file), 'feedback.jsonl')).filter((file) => existsSync(file));
}

/** Returns the file of a source. A run folder has its conversations in `transcripts.jsonl`. */
function fileOf(source: string): string {
  return existsSync(source) && statSync(source).isDirectory() ? path.join(source, 'transcripts.jsonl') : source;
}

async function readFileTraces(source: string): Promise<readonly Trace[]> {
  const file = fileOf(source);
  await checkTaskFile(file, mostBytes);
  const bytes = await readFile(file);
  if (isSqlite(bytes)) return readStudioTraces(bytes, file);
  const whole = isUtf8(bytes) ? parseJson(bytes.toString('utf8').replace(/^\ufeff/, '')) : undefined;
  if (isOtlp(whole)) return readOtlpTraces(whole);
  if (isJsonObject(whole) && isAtif(whole)) return readAtifTraces(whole, file);
  if (Array.isArray(whole)) return whole.map((each: unknown, at) => readExportedTrace(each, `${file}: item ${at}`));
  const traces: Trace[] = [];
  for await (const { rows } of jsonlRows.read(file))
    for (const { value, place } of rows) {
      if (isOtlp(value)) traces.push(...readOtlpTraces(value));
      else if (isJsonObject(value) && isAtif(value)) traces.push(...readAtifTraces(value, `${file}:${place}`));
      else if (!isSilentEpisode(value)) traces.push(readExportedTrace(value, `${file}:${place}`));
    }
  return traces;
}

/**
 * Returns the newest trace of each question. An agent that calls its model several times for one question makes several
 * spans, and the last span has the answer.
 */
function newestOfCalls(traces: readonly Trace[]): readonly Trace[] {
  const newest = new Map<string, Trace>();
  for (const trace of traces) {
    const users = trace.messages.filter(({ role }) => role === 'user').map(({ content }) => content);
    const key = JSON.stringify([trace.conversation, users]);
    const earlier = newest.get(key);
    newest.delete(key); // so that `set` moves the question to the end of the map
    newest.set(key, { ...trace, feedback: { ...earlier?.feedback, ...trace.feedback } });
  }
  return [...newest.values()];
}

/**
 * Adds feedback from a separate file. Its lines have `id` (or `trace_id`), or `conversation_id` for the last answer.
 */
export async function addFeedback(traces: readonly Trace[], file: string): Promise<readonly Trace[]> {
  const found = new Map<string, Feedback>();
  for await (const { rows } of jsonlRows.read(file))
    for (const { value, place } of rows) {
      const { key, feedback } = readFeedbackLine(value, `${file}:${place}`);
      found.set(key, { ...found.get(key), ...feedback });
    }
  const lastOf = new Map(traces.map(({ conversation, id }) => [conversation, id]));
  return traces.map((trace) => {
    const isLast = lastOf.get(trace.conversation) === trace.id;
    const given = { ...(isLast && found.get(`conversation ${trace.conversation}`)), ...found.get(`trace ${trace.id}`) };
    return { ...trace, feedback: { ...trace.feedback, ...given } };
  });
}

function readFeedbackLine(value: unknown, where: string): { readonly key: string; readonly feedback: Feedback } {
  const fields = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const feedback = { ...readFeedback(fields), ...readFeedback(fields['feedback']) };
  const id = textOf(fields['id'] ?? fields['trace_id'] ?? fields['episode_id']);
  const conversation = textOf(fields['conversation_id'] ?? fields['session_id']);
  const hasFeedback = Object.keys(feedback).length > 0;
  if (hasFeedback && id !== undefined) return { key: `trace ${id}`, feedback };
  if (hasFeedback && conversation !== undefined) return { key: `conversation ${conversation}`, feedback };
  throw new TaskError(
    'bad_feedback',
    `${where} ${hasFeedback ? 'names no answer' : 'has no feedback'}. Write { "id" | "conversation_id", "thumb": "up" | "down", "score", "correction" }.`,
  );
}

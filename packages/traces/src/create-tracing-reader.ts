import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile, TaskError, sha256 } from '@agentjet/core';
import {
  createSplitReader,
  findFiles,
  normalizedText,
  openFiles,
  tellProgress,
  type SideRows,
} from '@agentjet/data/tables';
import { openModelClient, systemModelHost, type ModelHost } from '@agentjet/model-client';
import { toClientOptions, type ModelSection } from '@agentjet/model-client/settings';
import type { DroppedTasks, TaskReader } from '@agentjet/rollout/inputs';
import { addFeedback, readTraces } from './read-traces.js';
import { askFilter, type FilterVerdict } from './filter-trace.js';
import type { Trace } from './trace.js';

export type TracingOptions = {
  readonly sources: readonly string[];
  readonly feedback: { readonly filePath: string | null; readonly goodFrom: number | null };
  readonly filters: {
    readonly keep: 'all' | 'rated' | 'corrected' | 'bad' | 'known';
    readonly rubric: string | null;
    readonly model: ModelSection;
  };
  /** A file of evaluation tasks in our own format. Null: a share of the conversations is used. */
  readonly validation: { readonly filePath: string | null };
  readonly split: { readonly evaluation: number };
  /** The folder that keeps tasks and verdicts of the filter. */
  readonly dir: string;
  readonly onNotice: (message: string) => void;
  /** Stops the filter. Its verdicts so far are kept. */
  readonly signal?: AbortSignal | undefined;
  /** The connection to models, which tests replace. */
  readonly host?: ModelHost;
};

/**
 * Reads tasks from questions that people asked a deployed agent. A correction is the right answer of its task. A thumb
 * or a score is a label in the metadata, for a judge. A task without feedback has neither. All tasks of a conversation
 * are on the same side.
 */
export function createTracingReader(options: TracingOptions): TaskReader {
  const { onNotice, split, validation } = options;
  const file = validation.filePath;
  return createSplitReader(
    { training: () => openRows(options), evaluation: file === null ? null : () => openTasks(file, options) },
    {
      split: { evaluation: file === null ? split.evaluation : 0, by: 'conversation' },
      allowOverlap: false,
      duplicates: 'keep', // each question is already there only once, with its best feedback
      similarity: 1,
      onNotice,
      onProgress: tellProgress(onNotice),
    },
  );
}

async function openRows(options: TracingOptions): Promise<SideRows> {
  const { sources, feedback, dir, onNotice } = options;
  const files = [...new Set((await Promise.all(sources.map(findFiles))).flat())].sort();
  const read = await readTraces(files, { hasOwnFeedback: feedback.filePath === null });
  const traces = feedback.filePath === null ? read : await addFeedback(read, feedback.filePath);
  const { kept, dropped } = await filterTraces(traces, options);
  if (kept.length === 0) throw nothingLeft(traces.length, dropped);
  const lines = kept.map((trace) => `${JSON.stringify(toRow(trace, feedback.goodFrom))}\n`).join('');
  const file = path.join(dir, `tasks-${sha256(lines).slice(0, 16)}.jsonl`);
  await mkdir(dir, { recursive: true });
  await replaceFile(file, lines);
  return { ...(await openRowsOf(files.join(', '), [file], onNotice)), dropped };
}

async function openTasks(pattern: string, { onNotice }: TracingOptions): Promise<SideRows> {
  return openRowsOf(pattern, await findFiles(pattern), onNotice);
}

function openRowsOf(
  location: string,
  files: readonly string[],
  onNotice: TracingOptions['onNotice'],
): Promise<SideRows> {
  return openFiles(location, files, {
    kind: 'feedback_tracing',
    revision: null,
    fields: {},
    limit: null,
    idPrefix: () => 'trace',
    onNotice,
    onProgress: () => undefined,
  });
}

type Filtered = { readonly kept: readonly Trace[]; readonly dropped: readonly DroppedTasks[] };

async function filterTraces(traces: readonly Trace[], options: TracingOptions): Promise<Filtered> {
  const dropped = new Map<string, string[]>();
  const drop = (reason: string, { id }: Trace): void => {
    dropped.set(reason, [...(dropped.get(reason) ?? []), id]);
  };
  const wanted = traces.filter((trace) => {
    const isWanted = isKept(trace, options);
    if (!isWanted) drop(`filters.keep is ${options.filters.keep}`, trace);
    return isWanted;
  });
  const best = bestOfEach(wanted, (trace) => drop('another trace has the same question', trace));
  const verdicts = await judgeAll(best, options);
  const kept = best.filter((trace, at) => {
    const verdict = verdicts[at];
    if (verdict?.isKept === false) drop(verdict.reason, trace);
    return verdict?.isKept !== false;
  });
  const numExamples = 5;
  return {
    kept,
    dropped: [...dropped].map(([reason, ids]) => ({ reason, count: ids.length, examples: ids.slice(0, numExamples) })),
  };
}

function isKept({ feedback }: Trace, { filters, feedback: { goodFrom } }: TracingOptions): boolean {
  const { thumb, score, correction } = feedback;
  const isBad =
    correction !== undefined || thumb === 'down' || (score !== undefined && goodFrom !== null && score < goodFrom);
  switch (filters.keep) {
    case 'all':
      return true;
    case 'rated':
      return Object.keys(feedback).length > 0;
    case 'corrected':
      return correction !== undefined;
    case 'bad':
      return isBad;
    case 'known':
      return correction !== undefined || isGood(feedback, goodFrom) === true;
  }
}

/**
 * Returns the most informative of the traces with the same question: one with a correction, else one with a rating,
 * else the newest.
 */
function bestOfEach(traces: readonly Trace[], onDropped: (trace: Trace) => void): readonly Trace[] {
  const rank = ({ feedback }: Trace): number =>
    feedback.correction !== undefined ? 2 : Object.keys(feedback).length > 0 ? 1 : 0;
  const best = new Map<string, Trace>();
  for (const trace of traces) {
    const key = normalizedText({ mainQuery: '', initMessages: trace.messages });
    const earlier = best.get(key);
    if (earlier !== undefined) onDropped(rank(earlier) > rank(trace) ? trace : earlier);
    if (earlier === undefined || rank(earlier) <= rank(trace)) best.set(key, trace);
  }
  return [...best.values()];
}

/** Returns the verdicts of the filter. The list is empty if there is no rubric. */
async function judgeAll(traces: readonly Trace[], options: TracingOptions): Promise<readonly FilterVerdict[]> {
  const { filters, dir, host = systemModelHost, onNotice } = options;
  const { rubric, model } = filters;
  if (rubric === null) return [];
  const verdicts = path.join(dir, 'verdicts.jsonl');
  const client = await openModelClient(
    toClientOptions(model, 'task_reader.feedback_tracing.filters.model', verdicts),
    host,
  );
  const signal = options.signal ?? new AbortController().signal;
  const tell = tellProgress(onNotice);
  let done = 0;
  return Promise.all(
    traces.map(async (trace) => {
      const verdict = await askFilter(trace, { rubric, maxTokens: model.maxTokens }, (asked) =>
        client.ask(asked, signal),
      );
      tell('filtering traces', ++done / traces.length);
      return verdict;
    }),
  );
}

/** Returns whether the answer was good, or undefined if neither a thumb nor a score says so. */
function isGood({ thumb, score }: Trace['feedback'], goodFrom: number | null): boolean | undefined {
  if (thumb !== undefined) return thumb === 'up';
  return score !== undefined && goodFrom !== null ? score >= goodFrom : undefined;
}

function toRow({ id, conversation, messages, answer, feedback }: Trace, goodFrom: number | null): object {
  const question = messages.at(-1)?.content ?? '';
  const { correction } = feedback;
  const good = isGood(feedback, goodFrom);
  const metadata = {
    conversation,
    given_answer: answer,
    ...(correction !== undefined && { answer: correction }),
    ...(good !== undefined && { is_good: good }),
    ...(Object.keys(feedback).length > 0 && { feedback }),
  };
  return { task_id: `trace/${id}`, main_query: question, init_messages: messages.slice(0, -1), metadata };
}

function nothingLeft(count: number, dropped: readonly DroppedTasks[]): TaskError {
  const reasons = dropped.map(({ reason, count: number }) => `${number}: ${reason}`).join('; ');
  return new TaskError(
    'no_tasks',
    count === 0
      ? 'The traces contain no question with an answer. Check task_reader.feedback_tracing.sources.'
      : `All ${count} traces were left out: ${reasons}. Change task_reader.feedback_tracing.filters.`,
  );
}

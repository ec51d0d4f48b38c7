import { type AtifDocument, type AtifStep, atifVersion, toRowExtra } from '@agentjet/atif';
import {
  type Branch,
  type EpisodeTree,
  layOutEpisode,
  readTurnRecords,
  type TokenSpan,
  type TurnDescription,
} from '@agentjet/context-tracker';
import { isJsonObject } from '@agentjet/core';
import type { RecordedEpisode, SampleRecord } from '@agentjet/run-folder';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import { addResult, type OpenSteps, toAnswerFields } from './steps.js';

/**
 * Converts an episode to ATIF: a document for each row of tokens, so for each agent and each fork of its history. Calls
 * that another row trains are copied context. The first document of an agent is the origin of its forks.
 */
export function toDocuments(
  record: RecordedEpisode,
  { chatTokenizer, modelName }: { readonly chatTokenizer: ChatTokenizer; readonly modelName?: string | undefined },
): readonly AtifDocument[] {
  const turns = readTurnRecords(Array.isArray(record['turns']) ? record['turns'] : []);
  const tree = layOutEpisode(record.samples, turns);
  const numOf = new Map<string, number>();
  return record.samples.map((sample, row) => {
    const { agent_name: name, target_tag: target } = sample;
    const num = numOf.get(name) ?? 0;
    numOf.set(name, num + 1);
    const idOf = (index: number): string => `${record.episode_id}/${name}/${index}`;
    const steps = toSteps({ record, sample, row, turns, tree, chatTokenizer });
    return {
      schema_version: atifVersion,
      session_id: record.episode_id,
      trajectory_id: idOf(num),
      agent: {
        name,
        version: 'unknown',
        ...(modelName !== undefined && { model_name: modelName }),
        extra: { target_tag: target },
      },
      steps,
      final_metrics: sumMetrics(steps),
      extra: {
        agentjet: {
          ...factsOf(record),
          ...(num > 0 && { fork_of: idOf(0) }),
          row: toRowExtra(sample, steps),
        },
      },
    };
  });
}

/** Fields of the record for which ATIF has no word. */
const facts = [
  'step',
  'phase',
  'task_id',
  'group_id',
  'repeat_index',
  'attempt',
  'status',
  'reward',
  'is_success',
  'rewards',
  'error',
] as const;

function factsOf(record: RecordedEpisode) {
  return Object.fromEntries(facts.flatMap((name) => (record[name] === undefined ? [] : [[name, record[name]]])));
}

type RowOf = {
  readonly record: RecordedEpisode;
  readonly sample: SampleRecord;
  readonly row: number;
  readonly turns: readonly TurnDescription[];
  readonly tree: EpisodeTree;
  readonly chatTokenizer: ChatTokenizer;
};

function toSteps({ record, sample, row, turns, tree, chatTokenizer }: RowOf): readonly AtifStep[] {
  const { tokenizer, template } = chatTokenizer;
  const open: OpenSteps = [];
  const textOf = ({ start, end }: TokenSpan): string => {
    const ids = sample.ids.slice(start, end);
    const last = ids.at(-1);
    return tokenizer.decode(last !== undefined && template.stopIds.includes(last) ? ids.slice(0, -1) : ids);
  };
  let opening = '';
  for (const span of spansOf(tree.branches, row)) {
    const text = textOf(span);
    const { author, name } = span;
    if (author === 'opening') opening = text;
    else if (author === 'system' || author === 'user')
      open.push({ source: author, message: text, ...(name !== undefined && { extra: { name } }) });
    else if (author === 'tool') addResult(open, text, name);
    else if (author !== 'template') {
      const turn = author === 'generated' ? ownTurn(span, row, turns) : undefined;
      const answer = toAnswerFields(template.parse(opening + text), `call_${open.length}`);
      open.push({ source: 'agent', ...answer, ...toCallFields(turn, { sample, record }) });
      opening = '';
    }
  }
  return open.map((step, at) => ({ step_id: at + 1, ...step }));
}

/** The turn whose tokens this row trains. Undefined if another row trains them. */
function ownTurn({ turns: sampled }: TokenSpan, row: number, turns: readonly TurnDescription[]) {
  return turns.find((turn) => turn.sample === row && sampled.includes(turn.index));
}

function toCallFields(
  turn: TurnDescription | undefined,
  { sample, record }: Pick<RowOf, 'sample' | 'record'>,
): Omit<AtifStep, 'step_id' | 'source' | 'message'> {
  if (turn === undefined) return { is_copied_context: true };
  const { promptTokens: start, generatedTokens, turnId, policyVersion, isTruncated, isTrained, fork, splices } = turn;
  const end = start + generatedTokens;
  const beganAt = typeof record['began_at'] === 'string' ? Date.parse(record['began_at']) : Number.NaN;
  const time = beganAt + (turn.times?.beganMs ?? Number.NaN);
  const endTime = beganAt + (turn.times?.endedMs ?? Number.NaN);
  return {
    ...(Number.isFinite(time) && { timestamp: new Date(time).toISOString() }),
    llm_call_count: 1,
    metrics: {
      prompt_tokens: start,
      completion_tokens: generatedTokens,
      prompt_token_ids: sample.ids.slice(0, start),
      completion_token_ids: sample.ids.slice(start, end),
      logprobs: sample.logprobs.slice(start, end),
    },
    extra: {
      agentjet: {
        turn_id: turnId,
        policy_version: policyVersion,
        is_truncated: isTruncated,
        ...(Number.isFinite(endTime) && { ended_at: new Date(endTime).toISOString() }),
        ...(isTrained === false && { is_trained: false }),
        ...(fork !== null && { fork }),
        ...(splices.length > 0 && { splices }),
      },
    },
  };
}

/** Returns the spans of a row. A span that a fork cuts is joined again. */
function spansOf(branches: readonly Branch[], row: number): readonly TokenSpan[] {
  const spans: TokenSpan[] = [];
  let below: readonly Branch[] = branches;
  for (let branch = find(below, row); branch !== undefined; branch = find(below, row)) {
    for (const span of branch.spans) {
      const last = spans.at(-1);
      if (last !== undefined && span.start === branch.start && isSameMessage(last, span))
        spans[spans.length - 1] = {
          ...last,
          end: span.end,
          turns: last.turns.filter((turn) => span.turns.includes(turn)),
        };
      else spans.push(span);
    }
    below = branch.children;
  }
  return spans;
}

const find = (branches: readonly Branch[], row: number): Branch | undefined =>
  branches.find(({ rows }) => rows.includes(row));

function isSameMessage(left: TokenSpan, right: TokenSpan): boolean {
  if (left.author !== right.author || left.name !== right.name) return false;
  return left.author !== 'generated' || left.turns.some((turn) => right.turns.includes(turn));
}

function sumMetrics(steps: readonly AtifStep[]) {
  const sum = (name: 'prompt_tokens' | 'completion_tokens'): number =>
    steps.reduce((total, { metrics }) => total + (metrics?.[name] ?? 0), 0);
  return {
    total_prompt_tokens: sum('prompt_tokens'),
    total_completion_tokens: sum('completion_tokens'),
    total_steps: steps.length,
  };
}

/** Whether a record has what a document needs. */
export function hasTurns(record: RecordedEpisode): boolean {
  const { turns, samples } = record;
  return Array.isArray(turns) && turns.every(isJsonObject) && samples.length > 0;
}

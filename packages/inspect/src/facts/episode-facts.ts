import { isJsonObject, type JsonObject } from '@agentjet/core';
import type { InspectedEpisode } from '../episode/read-episode.js';
import { formatInteger } from './number-text.js';
import { describeUntrained } from './untrained-facts.js';

export type Fact = readonly [label: string, value: string];

/** The facts about an episode that are shown before its tokens. */
export function describeEpisode({ record, tree, createDecoder }: InspectedEpisode): readonly Fact[] {
  const generated =
    numberAt(record, 'generated_tokens') ?? tree.turns.reduce((sum, { generatedTokens }) => sum + generatedTokens, 0);
  const trained = record.samples.reduce(
    (sum, { loss_mask: mask }) => sum + mask.reduce((ones, one) => ones + one, 0),
    0,
  );
  const sharing = tree.treeTokens === 0 ? 1 : tree.rowTokens / tree.treeTokens;
  return [
    ['episode', [record.episode_id, ...labelled(record, ['step', 'task_id', 'group_id', 'repeat_index'])].join('  ')],
    ['outcome', describeOutcome(record)],
    [
      'tokens',
      record.phase === 'evaluation'
        ? `${formatInteger(generated)} generated in an evaluation, which trains nothing`
        : `${formatInteger(generated)} generated, ${formatInteger(trained)} trained: trained / generated = ${generated === 0 ? '-' : (trained / generated).toFixed(3)}`,
    ],
    [
      'rows',
      `${record.samples.length}, ${formatInteger(tree.rowTokens)} tokens in all, ${formatInteger(tree.treeTokens)} as a tree (row / tree = ${sharing.toFixed(2)})`,
    ],
    ['calls', formatCounts(record['calls'], { answered: tree.turns.length }) || 'none'],
    ['forks', formatByAgent(record['forks'])],
    ['splices', formatByAgent(record['splices'])],
    ['foreign messages', formatByAgent(record['foreign_messages'])],
    ...optional('failed calls, swallowed', formatSwallowed(record['swallowed_errors'])),
    ...optional('without effect', formatOptional(record['ignored_parameters'])),
    ...optional('special tokens', formatOptional(record['special_tokens'])),
    ...optional('workflow', formatCounts(record['log_metrics'])),
    ...describeUntrained(record),
    ...(createDecoder === undefined
      ? [['note', "the model's tokenizer cannot be read, so token ids are shown in place of text"] as const]
      : []),
  ];
}

function numberAt(record: JsonObject, key: string): number | undefined {
  const value = record[key];
  return typeof value === 'number' ? value : undefined;
}

function labelled(record: JsonObject, keys: readonly string[]): readonly string[] {
  return keys.flatMap((key) => (isScalar(record[key]) ? [`${key.replace(/_(id|index)$/, '')} ${record[key]}`] : []));
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function describeOutcome(record: JsonObject): string {
  const seconds = numberAt(record, 'seconds');
  const time = seconds === undefined ? '' : ` after ${seconds.toFixed(1)} s`;
  const { status, reward, error } = record;
  if (status === 'failed') return `failed${time}: ${messageOf(error)}`;
  const success =
    record['is_success'] === undefined ? '' : record['is_success'] === true ? ', success' : ', no success';
  return `${typeof status === 'string' ? status : 'completed'}${time}${typeof reward === 'number' ? `, reward ${reward}` : ''}${success}`;
}

function messageOf(error: unknown): string {
  if (isJsonObject(error) && 'message' in error) {
    const { message, agent, place } = error;
    const whose = typeof agent === 'string' ? `agent "${agent}": ` : '';
    return `${whose}${String(message)}${typeof place === 'string' ? `\n${place}` : ''}`;
  }
  return typeof error === 'string' ? error : 'no reason was kept';
}

/** Lists the counts that are not 0, such as `answered 3, truncated 1`. */
function formatCounts(counts: unknown, fallback: JsonObject = {}): string {
  const entries = Object.entries(isJsonObject(counts) ? counts : fallback).filter(([, count]) => count !== 0);
  return entries
    .map(([name, count]) => `${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${String(count)}`)
    .join(', ');
}

/** Formats counts as `wolf-1: template 2, rewritten 1; wolf-2: tools 1`. */
function formatByAgent(counts: unknown): string {
  const agents = Object.entries(isJsonObject(counts) ? counts : {}).map(
    ([agent, causes]) => `${agent}: ${formatCounts(causes)}`,
  );
  return agents.length === 0 ? 'none' : agents.join('; ');
}

/** Failed model calls that did not end the episode. */
function formatSwallowed(calls: unknown): string {
  return (Array.isArray(calls) ? calls : [])
    .filter(isJsonObject)
    .map(({ agent_name, times, message }) => `${String(agent_name)} ${String(times)}: ${String(message)}`)
    .join('\n');
}

/** Returns an empty string in place of `none`. */
function formatOptional(counts: unknown): string {
  return isJsonObject(counts) && Object.keys(counts).length > 0 ? formatByAgent(counts) : '';
}

function optional(label: string, value: string): readonly Fact[] {
  return value === '' ? [] : [[label, value]];
}

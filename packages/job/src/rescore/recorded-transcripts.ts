import {
  layOutEpisode,
  readTurnRecords,
  type AgentTranscript,
  type Branch,
  type TokenSpan,
} from '@agentjet/context-tracker';
import { isJsonObject, type AssistantMessage, type ChatMessage } from '@agentjet/core';
import type { RecordedEpisode } from '@agentjet/run-folder';
import type { ChatTokenizer } from '@agentjet/tokenizer';

/**
 * Reads the conversations of a recorded episode out of its tokens, as the judge saw them: one for each row, and the
 * latest of each agent that does not learn. Returns undefined if the record has turns but not their tokens, as in some
 * evaluations.
 */
export function readRecordedTranscripts(
  record: RecordedEpisode,
  tokenizer: ChatTokenizer | undefined,
): readonly AgentTranscript[] | undefined {
  const turns = readTurnRecords(Array.isArray(record['turns']) ? record['turns'] : []);
  const untrained = readUntrained(record['untrained_calls']);
  if (turns.length === 0) return untrained;
  if (tokenizer === undefined || record.samples.length === 0) return undefined;
  const { branches } = layOutEpisode(record.samples, turns);
  const rows = record.samples.map(({ agent_name: agentName }, row) => ({
    agentName,
    messages: readRow(findPath(branches, row), tokenizer),
  }));
  return [...rows, ...untrained];
}

type Piece = Pick<TokenSpan, 'author' | 'name'> & { readonly ids: Int32Array };

/** Returns the parts of a row by author, in order. Branches of the tree divide parts, which are joined again. */
function findPath(branches: readonly Branch[], row: number): readonly Piece[] {
  const branch = branches.find(({ rows }) => rows.includes(row));
  if (branch === undefined) return [];
  const own = branch.spans.map(({ start, end, author, name }) => ({
    author,
    ...(name !== undefined && { name }),
    ids: branch.ids.subarray(start - branch.start, end - branch.start),
  }));
  return [...own, ...findPath(branch.children, row)].reduce<readonly Piece[]>(join, []);
}

function join(pieces: readonly Piece[], next: Piece): readonly Piece[] {
  const last = pieces.at(-1);
  if (last === undefined || last.author !== next.author || last.name !== next.name) return [...pieces, next];
  return [...pieces.slice(0, -1), { ...last, ids: Int32Array.from([...last.ids, ...next.ids]) }];
}

function readRow(pieces: readonly Piece[], { tokenizer, template }: ChatTokenizer): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  let opening = '';
  const open: string[] = [];
  for (const { author, name, ids } of pieces) {
    if (author === 'template') continue;
    const isAnswer = author === 'generated' || author === 'model' || author === 'foreign';
    const isStopped = isAnswer && template.stopIds.includes(ids.at(-1) ?? -1);
    const decoded = tokenizer.decode(isStopped ? ids.subarray(0, -1) : ids);
    // The first or the last token of a message may contain white space of the template.
    const text = isAnswer || author === 'opening' ? decoded : decoded.trim();
    if (author === 'opening') opening = text;
    else if (author === 'tool') messages.push({ role: 'tool', content: text, toolCallId: open.shift() ?? '' });
    else if (isAnswer) {
      const answer = toAnswer(template.parse(opening + text), messages.length);
      open.splice(0, open.length, ...(answer.toolCalls ?? []).map(({ id }) => id));
      messages.push(answer);
      opening = '';
    } else if (author === 'user') messages.push({ role: 'user', content: text, ...(name !== undefined && { name }) });
    else messages.push({ role: 'system', content: text });
  }
  return messages;
}

function toAnswer(
  { content, reasoning, toolCalls }: ReturnType<ChatTokenizer['template']['parse']>,
  index: number,
): AssistantMessage {
  return {
    role: 'assistant',
    content,
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls: toolCalls.map((call, at) => ({ id: `call-${index}-${at}`, ...call })) }),
  };
}

/** The record has only the new messages of each request. */
function readUntrained(calls: unknown): readonly AgentTranscript[] {
  const latest = new Map<string, readonly ChatMessage[]>();
  for (const call of Array.isArray(calls) ? calls : []) {
    if (!isJsonObject(call)) continue;
    const agentName = String(call['agent_name']);
    const repeated = (latest.get(agentName) ?? []).slice(0, Number(call['repeated_messages']));
    const added = [...(Array.isArray(call['messages']) ? call['messages'] : []), call['answer']];
    latest.set(agentName, [...repeated, ...added.filter((message): message is ChatMessage => isJsonObject(message))]);
  }
  return [...latest].map(([agentName, messages]) => ({ agentName, messages }));
}

import type { AssistantMessage, ChatMessage, ToolCall, ToolMessage } from '@agentjet/core';
import type { GeneratedTurn } from './seen-state.js';
import type { HistoryEntry, MessageNode } from './message-node.js';
import { schemaOf, squash } from './respelling.js';
import { isSameArguments } from './same-arguments.js';
import type { TurnIndex } from './turn-index.js';

/**
 * Recorded turns that were restored from messages, each turn whole and followed by its results. Frameworks merge
 * several turns into one message, or split one turn into several. Call ids identify the turns, because the tracker
 * minted them. Turns are restored only if every call, every result and every piece of text belongs to one of them.
 */
export type Regrouped = {
  readonly entries: readonly HistoryEntry[];
  readonly turns: readonly GeneratedTurn[];
  readonly next: number;
};

export function regroup(messages: readonly ChatMessage[], start: number, index: TurnIndex): Regrouped | undefined {
  const longest = takeStretch(messages, start, index, true);
  const usual = takeStretch(messages, start, index, false);
  return (
    regroupStretch(longest, start, index) ??
    (usual.length < longest.length ? regroupStretch(usual, start, index) : undefined)
  );
}

function regroupStretch(stretch: readonly ChatMessage[], start: number, index: TurnIndex): Regrouped | undefined {
  const answers = stretch.filter((message) => message.role === 'assistant');
  const results = stretch.filter((message) => message.role === 'tool');
  const turns = findTurns(answers, index);
  if (turns === undefined || !hasAllResults(turns, results)) return undefined;
  const rest = restOfText(answers, turns);
  if (rest === undefined) return undefined;
  const last = rest === '' ? [] : index.ofText(rest).filter((turn) => isAnswerAfter(turn, turns));
  if (rest !== '' && last.length !== 1) return undefined;
  const resultsOf = groupBy(results, ({ toolCallId }) => index.ofCallId(toolCallId));
  const entries = turns.flatMap((turn) => [
    toEntry(turn),
    ...(resultsOf.get(turn) ?? []).map((message) => ({ message })),
  ]);
  return { entries: [...entries, ...last.map(toEntry)], turns: [...turns, ...last], next: start + stretch.length };
}

/**
 * Takes one or two answers and their tool results, and the following messages as long as they contain only calls of
 * turns that have begun. With `withText`, text right after a message with calls also belongs to the same turn.
 */
function takeStretch(
  messages: readonly ChatMessage[],
  start: number,
  index: TurnIndex,
  withText: boolean,
): readonly ChatMessage[] {
  let end = start;
  const begun = new Set<GeneratedTurn | undefined>();
  for (let message = messages[end]; message !== undefined; message = messages[++end]) {
    if (message.role === 'tool') continue;
    if (message.role !== 'assistant') break;
    const turns = (message.toolCalls ?? []).map(({ id }) => index.ofCallId(id));
    const isTextAlone = end === start + 1 && begun.size === 0;
    const isTextAfterCalls =
      withText && turns.length === 0 && begun.size > 0 && messages[end - 1]?.role === 'assistant';
    if (
      end > start &&
      !isTextAlone &&
      !isTextAfterCalls &&
      (turns.length === 0 || !turns.every((turn) => begun.has(turn)))
    )
      break;
    for (const turn of turns) begun.add(turn);
  }
  return messages.slice(start, end);
}

/**
 * Returns the turns that made these calls, in their order. Returns undefined if a call of these turns is missing or
 * changed, or if a call belongs to no turn.
 */
function findTurns(answers: readonly AssistantMessage[], index: TurnIndex): readonly GeneratedTurn[] | undefined {
  const calls = answers.flatMap(({ toolCalls = [] }) => toolCalls);
  const turns = [...new Set(calls.map(({ id }) => index.ofCallId(id)))];
  const known = turns.filter((turn) => turn !== undefined);
  const own = known.flatMap((turn) => (turn.message.toolCalls ?? []).map((call) => ({ turn, call })));
  const isWhole = known.length > 0 && known.length === turns.length && own.length === calls.length && isInOrder(known);
  return isWhole && own.every(({ turn, call }, at) => isSameCall(turn, call, calls[at])) ? known : undefined;
}

function isInOrder(turns: readonly GeneratedTurn[]): boolean {
  return turns.every((turn, at) => at === 0 || turn.index > (turns[at - 1]?.index ?? 0));
}

function isSameCall(turn: GeneratedTurn, own: ToolCall, sent: ToolCall | undefined): boolean {
  const schema = schemaOf(turn, own.name);
  return sent?.id === own.id && sent.name === own.name && isSameArguments(own.arguments, sent.arguments, schema);
}

/** Returns whether each result answers one call, once. Only the last turn may still wait for results. */
function hasAllResults(turns: readonly GeneratedTurn[], results: readonly ToolMessage[]): boolean {
  const answered = new Set(results.map(({ toolCallId }) => toolCallId));
  const isComplete = (turn: GeneratedTurn): boolean => callIds(turn).every((id) => answered.has(id));
  const known = new Set(turns.flatMap(callIds));
  return (
    answered.size === results.length &&
    [...answered].every((id) => known.has(id)) &&
    turns.slice(0, -1).every(isComplete)
  );
}

function callIds({ message }: GeneratedTurn): readonly string[] {
  return (message.toolCalls ?? []).map(({ id }) => id);
}

/** Groups items and keeps their order. */
function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/**
 * Returns the text that remains without the texts of the turns and without whitespace. Returns undefined if text of a
 * turn is missing.
 */
function restOfText(answers: readonly AssistantMessage[], turns: readonly GeneratedTurn[]): string | undefined {
  const sent = squash(answers.map(({ content }) => content).join(''));
  const own = squash(turns.map(({ message }) => message.content).join(''));
  return sent.startsWith(own) ? sent.slice(own.length) : undefined;
}

/** Returns whether the turn answers the results of the last of these turns. */
function isAnswerAfter(turn: GeneratedTurn, turns: readonly GeneratedTurn[]): boolean {
  let asked: MessageNode | undefined = turn.node;
  while (asked?.message?.role === 'tool') asked = asked.parent;
  return (turn.message.toolCalls ?? []).length === 0 && asked?.origin !== undefined && asked.origin === turns.at(-1);
}

function toEntry(turn: GeneratedTurn): HistoryEntry {
  return { message: turn.message, origin: turn };
}

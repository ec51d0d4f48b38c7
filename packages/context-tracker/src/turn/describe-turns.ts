import type { ChatMessage } from '@agentjet/core';
import type { Tokenizer } from '@agentjet/tokenizer';
import type { TurnDescription, TurnPart } from '../contract.js';
import type { RecordedCall } from '../tokens/recorded-call.js';
import { layRows } from '../tokens/token-rows.js';
import { readPath, type TokenTree } from '../tokens/token-tree.js';

/** What `describe` says of each call, in the order in which they began. */
export function describeTurns(tree: TokenTree, calls: readonly RecordedCall[], tokenizer: Tokenizer): readonly TurnDescription[] {
  const sampleOf = new Map(layRows(tree, calls).flatMap((row, sample) => row.calls.map((call) => [call, sample] as const)));
  return calls
    .toSorted((left, right) => left.index - right.index)
    .map((call) => ({
      turnId: call.id,
      index: call.index,
      agentName: call.agent.agentName,
      targetTag: call.agent.targetTag,
      promptTokens: call.promptLength,
      reusedTokens: call.reusedTokens,
      generatedTokens: call.end.depth - call.promptLength,
      policyVersion: call.policyVersion,
      isTruncated: call.isTruncated,
      fork: call.fork ?? null,
      sample: sampleOf.get(call) ?? null,
      parts: findParts(call, tokenizer),
    }));
}

/** Which of the new prompt tokens come from which message. */
function findParts({ end, promptLength, numNew, added }: RecordedCall, tokenizer: Tokenizer): readonly TurnPart[] {
  const first = promptLength - numNew;
  const ids = readPath(end).subarray(first, promptLength);
  const { text, ends } = decodeEach(ids, tokenizer);
  const parts: TurnPart[] = [];
  let from = 0;
  for (const message of added) {
    const content = message.content.trim();
    const at = content === '' ? -1 : text.indexOf(content, from);
    if (at === -1) continue;
    from = at + content.length;
    parts.push({ ...toAuthor(message), start: first + findToken(ends, at + 1), end: first + findToken(ends, from) + 1 });
  }
  return parts;
}

function toAuthor({ role, ...rest }: ChatMessage): Pick<TurnPart, 'role' | 'name'> {
  const name = 'name' in rest ? rest.name : undefined;
  return name === undefined ? { role } : { role, name };
}

/** The text of all ids, and where the text of each ends in it. */
function decodeEach(ids: Int32Array, tokenizer: Tokenizer): { readonly text: string; readonly ends: readonly number[] } {
  const decoder = tokenizer.createStreamDecoder();
  let text = '';
  const ends = Array.from(ids, (id) => {
    text += decoder.push(id);
    return text.length;
  });
  return { text: text + decoder.flush(), ends };
}

/** The first token that ends at or after this place of the text. */
function findToken(ends: readonly number[], place: number): number {
  let low = 0;
  let high = ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

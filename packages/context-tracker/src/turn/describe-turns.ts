import type { TurnDescription } from '../contract.js';
import { inOrder, type RecordedCall } from '../tokens/recorded-call.js';
import type { TokenRow } from '../tokens/token-rows.js';

/** What `describe` says of each call, in the order in which they began. */
export function describeTurns(rows: readonly TokenRow[], calls: readonly RecordedCall[]): readonly TurnDescription[] {
  const sampleOf = new Map<RecordedCall, number>();
  for (const [sample, row] of rows.entries()) for (const call of row.calls) sampleOf.set(call, sample);
  const ordered = inOrder(calls);
  const turnOf = (begun: number): number => ordered.findIndex(({ index }) => index === begun);
  return ordered.map((call, index) => {
    const turn: TurnDescription = {
      turnId: call.id,
      index,
      agentName: call.agent.agentName,
      targetTag: call.agent.targetTag,
      promptTokens: call.promptLength,
      reusedTokens: call.reusedTokens,
      generatedTokens: call.end.depth - call.promptLength,
      policyVersion: call.policyVersion,
      isTruncated: call.isTruncated,
      fork: call.fork ?? null,
      sample: sampleOf.get(call) ?? null,
      splices: call.splices.map(({ index: begun, cause }) => ({ turn: turnOf(begun), cause })),
      foreignMessages: call.foreignMessages,
      parts: call.parts,
    };
    return call.isTrained ? turn : { ...turn, isTrained: false };
  });
}

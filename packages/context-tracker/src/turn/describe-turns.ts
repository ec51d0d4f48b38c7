import type { TurnDescription } from '../contract.js';
import { inOrder, type RecordedCall } from '../tokens/recorded-call.js';
import type { TokenRow } from '../tokens/token-rows.js';

/** What `describe` says of each call, in the order in which they began. */
export function describeTurns(rows: readonly TokenRow[], calls: readonly RecordedCall[]): readonly TurnDescription[] {
  const sampleOf = samplesIn(rows, calls);
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
      sample: sampleOf(call),
      splices: call.splices.map(({ index: begun, cause }) => ({ turn: turnOf(begun), cause })),
      foreignMessages: call.foreignMessages,
      parts: call.parts,
    };
    return call.isTrained ? turn : { ...turn, isTrained: false };
  });
}

/** The row that trains a call; null if none does. */
function samplesIn(rows: readonly TokenRow[], calls: readonly RecordedCall[]): (call: RecordedCall) => number | null {
  const [first] = rows;
  if (rows.length === 1 && first?.calls.length === calls.length) return () => 0; // most episodes are one conversation
  const samples = new Map<RecordedCall, number>();
  for (const [sample, row] of rows.entries()) for (const call of row.calls) samples.set(call, sample);
  return (call) => samples.get(call) ?? null;
}

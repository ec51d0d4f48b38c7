import type { AgentIdentity, TurnDescription } from '../contract.js';
import { inOrder, type RecordedCall } from '../tokens/recorded-call.js';
import type { TokenRow } from '../tokens/token-rows.js';
import { findParts, type PartTools } from './find-parts.js';

/** What `describe` says of each call, in the order in which they began. */
export function describeTurns(
  rows: readonly TokenRow[],
  calls: readonly RecordedCall[],
  toolsOf: (agent: AgentIdentity) => PartTools,
): readonly TurnDescription[] {
  const sampleOf = new Map(rows.flatMap((row, sample) => row.calls.map((call) => [call, sample] as const)));
  const ordered = inOrder(calls);
  const turnOf = new Map(ordered.map(({ index }, turn) => [index, turn]));
  return ordered.map((call, index) => ({
    turnId: call.id,
    index,
    agentName: call.agent.agentName,
    targetTag: call.agent.targetTag,
    promptTokens: call.promptLength,
    reusedTokens: call.reusedTokens,
    generatedTokens: call.end.depth - call.promptLength,
    policyVersion: call.policyVersion,
    isTruncated: call.isTruncated,
    ...(call.isTrained ? {} : { isTrained: false as const }),
    fork: call.fork ?? null,
    sample: sampleOf.get(call) ?? null,
    splices: call.splices.map(({ index: begun, cause }) => ({ turn: turnOf.get(begun) ?? -1, cause })),
    foreignMessages: call.foreignMessages,
    parts: findParts(call, toolsOf(call.agent)),
  }));
}

import type { TurnDescription } from '../contract.js';
import { inOrder, type SampledCall } from '../tokens/sampled-call.js';
import type { CallRow } from '../tokens/call-rows.js';

/** Describes each call, in the order in which the calls began. */
export function describeTurns(rows: readonly CallRow[], calls: readonly SampledCall[]): readonly TurnDescription[] {
  const sampleOf = samplesIn(rows);
  const ordered = inOrder(calls);
  const placeOf = (begun: number): number => ordered.findIndex(({ index }) => index === begun);
  return ordered.map((call, place) => describeTurn(call, { place, sample: sampleOf(call), placeOf }));
}

type Whereabouts = {
  /** Position of the call in the episode, in the order in which calls began. */
  readonly place: number;
  readonly sample: number | null;
  /** Returns that position for a call's `index`. */
  readonly placeOf: (index: number) => number;
};

export function describeTurn(call: SampledCall, { place, sample, placeOf }: Whereabouts): TurnDescription {
  const { times } = call;
  const turn: TurnDescription = {
    turnId: call.id,
    index: place,
    agentName: call.agent.agentName,
    targetTag: call.agent.targetTag,
    promptTokens: call.promptLength,
    reusedTokens: call.reusedTokens,
    generatedTokens: call.end.depth - call.promptLength,
    policyVersion: call.policyVersion,
    isTruncated: call.isTruncated,
    ...(!call.isStopped && !call.isTruncated && { hasStopToken: false as const }),
    fork: call.fork ?? null,
    sample,
    splices: call.splices.map(({ index: begun, cause }) => ({ turn: placeOf(begun), cause })),
    foreignMessages: call.foreignMessages,
    parts: call.parts,
    ...(times !== undefined && { times }),
  };
  return call.isTrained ? turn : { ...turn, isTrained: false };
}

/** Returns the index of the row that trains a call, or null if none does. */
function samplesIn(rows: readonly CallRow[]): (call: SampledCall) => number | null {
  const samples = new Map<SampledCall, number>();
  for (const [sample, row] of rows.entries()) for (const call of row.calls) samples.set(call, sample);
  return (call) => samples.get(call) ?? null;
}

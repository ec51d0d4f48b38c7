import { camelKeys } from '@agentjet/core';
import type { CallTimes, TurnDescription } from '../contract.js';

/** A turn in the list `turns` of an episode's record. Its keys are in snake_case. */
export type TurnRecord = Readonly<Record<string, unknown>>;

/**
 * Converts a turn to its record. It copies key by key, because it runs for every turn: a general conversion of names
 * would take longer than describing the turn.
 */
export function toTurnRecord(turn: TurnDescription): TurnRecord {
  const record = {
    turn_id: turn.turnId,
    index: turn.index,
    agent_name: turn.agentName,
    target_tag: turn.targetTag,
    prompt_tokens: turn.promptTokens,
    reused_tokens: turn.reusedTokens,
    generated_tokens: turn.generatedTokens,
    policy_version: turn.policyVersion,
    is_truncated: turn.isTruncated,
    ...(turn.hasStopToken === false && { has_stop_token: false }),
    fork: turn.fork,
    sample: turn.sample,
    splices: turn.splices,
    foreign_messages: turn.foreignMessages,
    parts: turn.parts,
    ...(turn.times !== undefined && { times: toTimesRecord(turn.times) }),
  };
  return turn.isTrained === undefined ? record : { ...record, is_trained: turn.isTrained };
}

function toTimesRecord({ beganMs, waitedMs, promptMs, samplingMs, endedMs }: CallTimes): TurnRecord {
  return {
    began_ms: beganMs,
    ...(waitedMs !== undefined && { waited_ms: waitedMs }),
    ...(promptMs !== undefined && { prompt_ms: promptMs }),
    ...(samplingMs !== undefined && { sampling_ms: samplingMs }),
    ended_ms: endedMs,
  };
}

/** Returns the turns of an episode's record. */
export function readTurnRecords(turns: readonly unknown[]): readonly TurnDescription[] {
  return turns.map((turn) => camelKeys(turn) as TurnDescription);
}

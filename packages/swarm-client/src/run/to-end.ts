import { isAgentsFailure, type Episode } from '@agentjet/rollout';
import type { EndRequest } from '@agentjet/swarm-wire';

/** Longer conversations of untrained agents are left out, because they are only for people. */
const maxMessageBytes = 2 ** 20;
const maxErrorLength = 100_000;
const maxCodeLength = 200;

/** The ids of the trained answers of each agent, in order. */
export type TurnIds = ReadonlyMap<string, readonly string[]>;

type More = {
  readonly client: string;
  /** How long calls of the episode waited for a server that was away. */
  readonly awayMs: number;
  readonly turnIds: TurnIds;
};

/** The end of an episode as it is sent to the server. */
export function toEnd(episode: Episode, { client, awayMs, turnIds }: More): EndRequest {
  const { metadata, logMetrics, seconds, secondsJudging, judgeOutage } = episode;
  const shared = {
    client,
    metadata: { ...metadata },
    log_metrics: { ...logMetrics },
    seconds,
    ...(secondsJudging !== undefined && { seconds_judging: secondsJudging }),
    ...(judgeOutage !== undefined && { judge_outage: judgeOutage }),
    ...toSpans(episode),
    ...turnRewards(episode, turnIds),
    ...untrainedMessages(episode),
    ...swallowedErrors(episode),
  };
  if (episode.status === 'failed') {
    const { error } = episode;
    const isTimeout = error.code === 'timeout' && awayMs > 0;
    const status = isAgentsFailure(error) && !isTimeout ? 'failed' : 'outage';
    const text = [error.message, error.place].filter(Boolean).join('\n').slice(0, maxErrorLength);
    const code = error.code.slice(0, maxCodeLength);
    return { ...shared, status, reward: null, is_success: null, error: text, error_code: code };
  }
  const { reward, rewards, isSuccess, parts, reason } = episode;
  return {
    ...shared,
    status: 'completed',
    reward,
    is_success: isSuccess,
    ...(rewards !== undefined && { rewards: { ...rewards } }),
    ...(parts !== undefined && { parts: { ...parts } }),
    ...(reason !== undefined && { reason: reason.slice(0, maxErrorLength) }),
  };
}

function turnRewards({ paidTurns }: Episode, turnIds: TurnIds): Pick<EndRequest, 'turn_rewards'> {
  if (paidTurns === undefined) return {};
  const paid = paidTurns.map(({ agentName, turnId, value }) => {
    return { agent: agentName, turn: turnIds.get(agentName)?.indexOf(turnId) ?? -1, value };
  });
  return { turn_rewards: paid.filter(({ turn }) => turn >= 0) };
}

const maxSpans = 10_000;

function toSpans({ spans }: Episode): Pick<EndRequest, 'spans'> {
  if (spans === undefined) return {};
  const sent = spans.slice(0, maxSpans).map(({ name, beganMs, endedMs, hasFailed }) => {
    return { name: name.slice(0, 1000), began_ms: beganMs, ended_ms: endedMs, has_failed: hasFailed };
  });
  return { spans: sent };
}

function swallowedErrors({ swallowedErrors: swallowed }: Episode): Pick<EndRequest, 'swallowed_errors'> {
  if (swallowed === undefined) return {};
  const sent = swallowed.slice(0, 100).map(({ agentName, code, message, times }) => {
    return { agent_name: agentName.slice(0, 1000), code: code.slice(0, 200), message: message.slice(0, 10_000), times };
  });
  return { swallowed_errors: sent };
}

function untrainedMessages({ untrainedCalls = [] }: Episode): Pick<EndRequest, 'messages'> {
  if (untrainedCalls.length === 0) return {};
  const messages = untrainedCalls.map((call) => ({ ...call }));
  return JSON.stringify(messages).length > maxMessageBytes ? {} : { messages };
}

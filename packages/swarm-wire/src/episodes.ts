import { maxReward, rewardRange } from '@agentjet/core';
import { z } from 'zod';

/** Schemas of episodes, which a client claims, keeps alive, ends or gives back. */

const id = z.string().min(1).max(200);
const reward = z.number().min(-maxReward, `a reward is ${rewardRange}`).max(maxReward, `a reward is ${rewardRange}`);

/** The name of a share. It is part of ids and addresses, so it allows only some characters. */
export const shareName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'a name of up to 64 letters, digits, dots, dashes and underscores')
  .refine((name) => !(name in {}), 'another name, because every JavaScript object has a property of this name');

/**
 * If a claim gets several episodes, each further episode has the claim id with `#` and a number. So a claim id may not
 * end in `#` and a number.
 */
const claimId = id.regex(/^(?![\s\S]*#[0-9]+$)/, 'expected an id that does not end in # and a number');

export const claimRequestSchema = z.strictObject({
  /** An id that the client chooses once for each claim. A repeated claim gets the same episodes. */
  claim_id: claimId,
  /** A name that no other program uses at the same time. */
  client: id,
  /**
   * A random value for each start of the client. When the value changes, the server takes back the episodes of the
   * earlier start.
   */
  life: id,
  /** The shares that the client can run. */
  can: z.array(shareName).min(1).max(100).default(['default']),
  count: z.number().int().min(1).max(64).default(1),
  purpose: z.enum(['train', 'evaluation', 'any']).default('any'),
  /** The name of this version of the agent's code and the reward's code. */
  revision: z.string().max(200).default(''),
  lease_seconds: z.number().positive().max(86_400).default(120),
  wait_seconds: z.number().min(0).max(30).default(0),
});

export const taskSchema = z.strictObject({
  task_id: id,
  main_query: z.string().default(''),
  init_messages: z
    .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
    .default([]),
  metadata: z.record(z.string(), z.unknown()).default({}),
});

export const claimedEpisodeSchema = z.strictObject({
  episode_id: z.string(),
  group_id: z.string(),
  place: z.number().int(),
  attempt: z.number().int(),
  seed: z.number().int(),
  purpose: z.enum(['train', 'evaluation']),
  task_id: z.string(),
  /** The kind of task. It is `default` in a run without shares. */
  share: z.string(),
  /** Absent for tasks whose content stays at the client. */
  task: taskSchema.optional(),
  /** The hash of the task's content. Absent if the tasks of the run were never replaced. */
  task_hash: z.string().optional(),
  lease_seconds: z.number(),
  /** The base address of this episode's model: `<base_url>/<agent>/v1`. */
  base_url: z.string(),
  model: z.string(),
  /** Authorizes the model calls of this episode and nothing else. */
  key: z.string(),
  /** The targets that learn. Absent if the server's configuration names none: then the workflow decides. */
  trainable_targets: z.array(z.string()).optional(),
  /** The targets of each policy, on a server with several policies. Rewards in an end may name policies or targets. */
  policies: z.record(z.string(), z.array(z.string())).optional(),
});

export const claimAnswerSchema = z.strictObject({
  episodes: z.array(claimedEpisodeSchema),
  /** Why there are no episodes. */
  reason: z
    .enum([
      'paused',
      'draining',
      'stopped',
      'complete',
      'starting',
      'updating',
      'no_open_place',
      'no_task',
      'capacity',
      'store_full',
    ])
    .optional(),
  retry_after_ms: z.number().int().nonnegative().optional(),
});

export const heartbeatRequestSchema = z.strictObject({
  client: id,
  life: id,
  episodes: z.array(id).max(10_000),
  /** True if the client is stopping. Its name is free at once, and its episodes are given back. */
  leaving: z.boolean().default(false),
  /**
   * In a run that waits for its clients, the client asks for the step after this version. It repeats this with each
   * heartbeat.
   */
  asks_after: z.number().int().nonnegative().optional(),
});

const goneSchema = z.strictObject({ episode_id: z.string(), reason: z.string() });

export const heartbeatAnswerSchema = z.strictObject({
  renewed: z.array(z.string()),
  gone: z.array(goneSchema),
});

export const endRequestSchema = z.strictObject({
  client: id,
  status: z.enum(['completed', 'failed', 'outage']),
  /** Null means that the reward comes later, from a scorer. */
  reward: reward.nullable().default(null),
  /** Rewards by target, if they differ. The reward of a policy counts for all of its targets. */
  rewards: z.record(z.string(), reward).optional(),
  /**
   * Rewards that agents earned during the episode, in addition to the final reward. `turn` is the index of the agent's
   * answer, from 0.
   */
  turn_rewards: z
    .array(z.strictObject({ agent: id, turn: z.number().int().nonnegative(), value: reward }))
    .max(10_000)
    .optional(),
  is_success: z.boolean().nullable().default(null),
  metadata: z.record(z.string(), z.unknown()).default({}),
  log_metrics: z.record(z.string(), z.number()).default({}),
  /** The parts of the judge's reward, and its reason. */
  parts: z.record(z.string(), z.number()).optional(),
  reason: z.string().max(100_000).optional(),
  /** The error message, for `failed` and `outage`. */
  error: z.string().max(100_000).optional(),
  /** The kind of error in one word, such as `timeout`. */
  error_code: z.string().max(200).optional(),
  /** The revision of the reward. Default: the revision of the claim. */
  revision: z.string().max(200).optional(),
  /**
   * How long the agent ran, and how long its judge took, as the client measured it. Default: the time since the claim.
   */
  seconds: z.number().min(0).max(1e9).optional(),
  seconds_judging: z.number().min(0).max(1e9).optional(),
  /** Work of tools and environments, in milliseconds since the episode began. */
  spans: z
    .array(
      z.strictObject({
        name: z.string().max(1000),
        began_ms: z.number(),
        ended_ms: z.number(),
        has_failed: z.boolean().default(false),
      }),
    )
    .max(10_000)
    .optional(),
  /** Messages of agents that do not learn. They are kept and never trained. */
  messages: z.array(z.record(z.string(), z.unknown())).optional(),
  /** Model calls that failed while the episode continued. */
  swallowed_errors: z
    .array(
      z.strictObject({
        agent_name: z.string().max(1000),
        code: z.string().max(200),
        message: z.string().max(10_000),
        times: z.number().int().positive(),
      }),
    )
    .max(100)
    .optional(),
});

/** The outcome of an episode in each policy of a server with several policies, once one of them has trained it. */
const parts = z.record(
  z.string(),
  z.strictObject({ state: z.string(), reason: z.string().optional(), step: z.number().int().optional() }),
);

/** Confirms the end of an episode, which is on the server's disk by then. */
export const receiptSchema = z.strictObject({
  episode_id: z.string(),
  status: z.enum(['completed', 'failed', 'outage']),
  /** The state of the episode so far. */
  state: z.enum(['ended', 'pooled', 'assigned', 'trained', 'evaluated', 'dropped']),
  reason: z.string().optional(),
  step: z.number().int().optional(),
  parts: parts.optional(),
});

export const abandonRequestSchema = z.strictObject({ client: id, reason: z.string().max(10_000).default('') });

export const abandonAnswerSchema = z.strictObject({
  episode_id: z.string(),
  state: z.string(),
  reason: z.string().optional(),
});

export const episodeAnswerSchema = z.strictObject({
  episode_id: z.string(),
  group_id: z.string().optional(),
  place: z.number().int().optional(),
  attempt: z.number().int().optional(),
  client: z.string().optional(),
  /** For a running episode: the time since its claim. Time without a working model does not count. */
  seconds: z.number().optional(),
  state: z.string(),
  reason: z.string().optional(),
  reward: z.number().nullable().optional(),
  step: z.number().int().optional(),
  parts: parts.optional(),
});

export const episodesAnswerSchema = z.strictObject({
  episodes: z.array(episodeAnswerSchema),
  next: z.string().optional(),
});

/** The query of GET /groups, which selects groups. */
export const groupsQuerySchema = z.strictObject({ state: z.enum(['unscored', 'open']).default('open') });

const scoredEpisodeSchema = z.strictObject({
  episode_id: id,
  reward,
  is_success: z.boolean().nullable().default(null),
});

export const rewardsRequestSchema = z.strictObject({
  /** The name of these rewards. */
  revision: id,
  /** The revision that the scorer saw, or null for none. If it has changed in the meantime, the answer is 412. */
  replaces: z.string().nullable(),
  /** Exactly the ended episodes of the group. */
  rewards: z.array(scoredEpisodeSchema).min(1),
});

export const groupAnswerSchema = z.strictObject({
  group_id: z.string(),
  task_id: z.string(),
  share: z.string(),
  revision: z.string(),
  score_revision: z.string().nullable(),
  state: z.string(),
  episodes: z.array(episodeAnswerSchema),
});

export const groupsAnswerSchema = z.strictObject({ groups: z.array(groupAnswerSchema) });

export type ClaimRequest = z.infer<typeof claimRequestSchema>;
export type ClaimAnswer = z.infer<typeof claimAnswerSchema>;
export type ClaimedEpisode = z.infer<typeof claimedEpisodeSchema>;
export type HeartbeatRequest = z.infer<typeof heartbeatRequestSchema>;
export type HeartbeatAnswer = z.infer<typeof heartbeatAnswerSchema>;
export type EndRequest = z.infer<typeof endRequestSchema>;
export type Receipt = z.infer<typeof receiptSchema>;
export type AbandonRequest = z.infer<typeof abandonRequestSchema>;
export type AbandonAnswer = z.infer<typeof abandonAnswerSchema>;
export type EpisodesAnswer = z.infer<typeof episodesAnswerSchema>;
export type EpisodeAnswer = z.infer<typeof episodeAnswerSchema>;
export type RewardsRequest = z.infer<typeof rewardsRequestSchema>;
export type GroupAnswer = z.infer<typeof groupAnswerSchema>;
export type GroupsAnswer = z.infer<typeof groupsAnswerSchema>;
export type WireTask = z.infer<typeof taskSchema>;

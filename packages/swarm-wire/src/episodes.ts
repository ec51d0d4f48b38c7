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
  claim_id: claimId.describe(
    'An id that the client chooses once for each claim. A repeated claim gets the same episodes.',
  ),
  client: id.describe('A name that no other program uses at the same time.'),
  life: id.describe(
    'A random value for each start of the client. When the value changes, the server takes back the episodes of the earlier start.',
  ),
  can: z.array(shareName).min(1).max(100).default(['default']).describe('The shares that the client can run.'),
  count: z.number().int().min(1).max(64).default(1),
  purpose: z.enum(['train', 'evaluation', 'any']).default('any'),
  revision: z
    .string()
    .max(200)
    .default('')
    .describe("The name of this version of the agent's code and the reward's code."),
  lease_seconds: z.number().positive().max(86_400).default(120),
  wait_seconds: z.number().min(0).max(30).default(0),
});

export const taskSchema = z.strictObject({
  task_id: id,
  main_query: z.string().default(''),
  init_messages: z
    .array(
      z.strictObject({
        role: z.enum(['system', 'user', 'assistant']).describe('Who says it.'),
        content: z.string(),
      }),
    )
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
  share: z.string().describe('The kind of task. It is `default` in a run without shares.'),
  task: taskSchema.optional().describe('Absent for tasks whose content stays at the client.'),
  task_hash: z
    .string()
    .optional()
    .describe("The hash of the task's content. Absent if the tasks of the run were never replaced."),
  lease_seconds: z.number(),
  base_url: z.string().describe("The base address of this episode's model: `<base_url>/<agent>/v1`."),
  model: z.string(),
  key: z.string().describe('Authorizes the model calls of this episode and nothing else.'),
  trainable_targets: z
    .array(z.string())
    .optional()
    .describe("The targets that learn. Absent if the server's configuration names none: then the workflow decides."),
  policies: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe(
      'The targets of each policy, on a server with several policies. Rewards in an end may name policies or targets.',
    ),
});

export const claimAnswerSchema = z.strictObject({
  episodes: z.array(claimedEpisodeSchema).describe('The claimed episodes. It is empty if there is no place.'),
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
    .optional()
    .describe('Why there are no episodes.'),
  retry_after_ms: z.number().int().nonnegative().optional(),
});

export const dropAnswerSchema = z.strictObject({
  dropped: z.number().int().describe('The number of dropped episodes.'),
});

export const heartbeatRequestSchema = z.strictObject({
  client: id,
  life: id,
  episodes: z.array(id).max(10_000).describe('The ids of the episodes that the client runs.'),
  leaving: z
    .boolean()
    .default(false)
    .describe('True if the client is stopping. Its name is free at once, and its episodes are given back.'),
  asks_after: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .describe(
      'In a run that waits for its clients, the client asks for the step after this version. It repeats this with each heartbeat.',
    ),
});

const goneSchema = z.strictObject({
  episode_id: z.string(),
  reason: z.string().describe('Why the episode is over, such as `lease_expired`.'),
});

export const heartbeatAnswerSchema = z.strictObject({
  renewed: z.array(z.string()),
  gone: z.array(goneSchema),
});

export const endRequestSchema = z.strictObject({
  client: id,
  status: z
    .enum(['completed', 'failed', 'outage'])
    .describe('`failed` if the agent failed, and `outage` if the world failed. An outage is never a reward.'),
  reward: reward.nullable().default(null).describe('Null means that the reward comes later, from a scorer.'),
  rewards: z
    .record(z.string(), reward)
    .optional()
    .describe('Rewards by target, if they differ. The reward of a policy counts for all of its targets.'),
  turn_rewards: z
    .array(z.strictObject({ agent: id, turn: z.number().int().nonnegative(), value: reward }))
    .max(10_000)
    .optional()
    .describe(
      "Rewards that agents earned during the episode, in addition to the final reward. `turn` is the index of the agent's answer, from 0.",
    ),
  is_success: z.boolean().nullable().default(null),
  metadata: z.record(z.string(), z.unknown()).default({}),
  log_metrics: z.record(z.string(), z.number()).default({}),
  parts: z.record(z.string(), z.number()).optional().describe("The parts of the judge's reward."),
  reason: z.string().max(100_000).optional().describe('Why the judge gave this reward.'),
  error: z.string().max(100_000).optional().describe('The error message, for `failed` and `outage`.'),
  error_code: z.string().max(200).optional().describe('The kind of error in one word, such as `timeout`.'),
  revision: z.string().max(200).optional().describe('The revision of the reward. Default: the revision of the claim.'),
  seconds: z
    .number()
    .min(0)
    .max(1e9)
    .optional()
    .describe(
      'How long the agent ran, and how long its judge took, as the client measured it. Default: the time since the claim.',
    ),
  seconds_judging: z.number().min(0).max(1e9).optional(),
  judge_outage: z
    .strictObject({
      requests: z.int().min(1).max(1e9).describe('How many requests the judge did not answer.'),
      seconds: z.number().min(0).max(1e9).describe('How long the episode waited for the judge.'),
    })
    .optional()
    .describe('The requests that the judge did not answer because of an outage, and how long the episode waited.'),
  spans: z
    .array(
      z.strictObject({
        name: z.string().max(1000).describe('The name of the tool or of the environment.'),
        began_ms: z.number(),
        ended_ms: z.number(),
        has_failed: z.boolean().default(false),
      }),
    )
    .max(10_000)
    .optional()
    .describe('Work of tools and environments, in milliseconds since the episode began.'),
  messages: z
    .array(z.record(z.string(), z.unknown()))
    .optional()
    .describe('Messages of agents that do not learn. They are kept and never trained.'),
  swallowed_errors: z
    .array(
      z.strictObject({
        agent_name: z.string().max(1000),
        code: z.string().max(200).describe('The code of the error.'),
        message: z.string().max(10_000).describe('The message of the error.'),
        times: z.number().int().positive(),
      }),
    )
    .max(100)
    .optional()
    .describe('Model calls that failed while the episode continued.'),
});

/** The outcome of an episode in each policy of a server with several policies, once one of them has trained it. */
const parts = z.record(
  z.string(),
  z.strictObject({
    state: z.string().describe('The state of this part.'),
    reason: z.string().optional().describe('Why it was dropped, if it was.'),
    step: z.number().int().optional().describe('The step of this policy whose batch has the episode.'),
  }),
);

/** Confirms the end of an episode, which is on the server's disk by then. */
export const receiptSchema = z.strictObject({
  episode_id: z.string(),
  status: z.enum(['completed', 'failed', 'outage']).describe('How the episode ended.'),
  state: z
    .enum(['ended', 'pooled', 'assigned', 'trained', 'evaluated', 'dropped'])
    .describe('The state of the episode so far.'),
  reason: z.string().optional().describe('Why it was dropped, if it was.'),
  step: z.number().int().optional().describe('The step whose batch has the episode.'),
  parts: parts.optional().describe('What became of the episode in each policy, once one of them has trained it.'),
});

export const abandonRequestSchema = z.strictObject({
  client: id,
  reason: z.string().max(10_000).default('').describe('Why it is given back, for the log.'),
});

export const abandonAnswerSchema = z.strictObject({
  episode_id: z.string(),
  state: z.string().describe('The state of the episode.'),
  reason: z.string().optional().describe('Why it was dropped, if it was.'),
});

export const episodeAnswerSchema = z.strictObject({
  episode_id: z.string(),
  group_id: z.string().optional(),
  place: z.number().int().optional(),
  attempt: z.number().int().optional(),
  client: z.string().optional(),
  seconds: z
    .number()
    .optional()
    .describe('For a running episode: the time since its claim. Time without a working model does not count.'),
  state: z.string().describe('The state of the episode.'),
  reason: z.string().optional().describe('Why it was dropped, if it was.'),
  reward: z.number().nullable().optional().describe('Its reward. Null if it is not known yet.'),
  step: z.number().int().optional().describe('The step whose batch has the episode.'),
  parts: parts.optional().describe('What became of the episode in each policy, once one of them has trained it.'),
});

export const episodesAnswerSchema = z.strictObject({
  episodes: z.array(episodeAnswerSchema).describe('The episodes, in the order of their claims.'),
  next: z.string().optional().describe('The value of `after` for the next page. Absent on the last page.'),
});

const scoredEpisodeSchema = z.strictObject({
  episode_id: id,
  reward: reward.describe('The new reward.'),
  is_success: z.boolean().nullable().default(null),
});

export const rewardsRequestSchema = z.strictObject({
  revision: id.describe('The name of these rewards.'),
  replaces: z
    .string()
    .nullable()
    .describe(
      'The revision that the scorer saw, or null for none. If it has changed in the meantime, the answer is 412.',
    ),
  rewards: z.array(scoredEpisodeSchema).min(1).describe('Exactly the ended episodes of the group.'),
});

export const groupAnswerSchema = z.strictObject({
  group_id: z.string(),
  task_id: z.string(),
  share: z.string(),
  revision: z.string().describe('The name of the code that its clients run.'),
  score_revision: z.string().nullable(),
  state: z.string().describe('`sampling`, `trainable`, or what became of it.'),
  episodes: z.array(episodeAnswerSchema).describe('Its episodes that have ended.'),
});

export const groupsAnswerSchema = z.strictObject({
  groups: z.array(groupAnswerSchema).describe('The groups, the oldest first.'),
  next: z.string().optional().describe('Pass it as `after` to get the next page. Absent on the last page.'),
});

export type ClaimRequest = z.infer<typeof claimRequestSchema>;
export type ClaimAnswer = z.infer<typeof claimAnswerSchema>;
export type ClaimedEpisode = z.infer<typeof claimedEpisodeSchema>;
export type HeartbeatRequest = z.infer<typeof heartbeatRequestSchema>;
export type HeartbeatAnswer = z.infer<typeof heartbeatAnswerSchema>;
export type EndRequest = z.infer<typeof endRequestSchema>;
export type Receipt = z.infer<typeof receiptSchema>;
export type AbandonRequest = z.infer<typeof abandonRequestSchema>;
export type AbandonAnswer = z.infer<typeof abandonAnswerSchema>;
/** The answer to `GET /episodes`. */
export type EpisodesAnswer = z.infer<typeof episodesAnswerSchema>;
export type EpisodeAnswer = z.infer<typeof episodeAnswerSchema>;
export type RewardsRequest = z.infer<typeof rewardsRequestSchema>;
export type GroupAnswer = z.infer<typeof groupAnswerSchema>;
export type GroupsAnswer = z.infer<typeof groupsAnswerSchema>;
export type WireTask = z.infer<typeof taskSchema>;

import { z } from 'zod';
import { shareName, taskSchema } from './episodes.js';

/** Schemas of the run as a whole: its tasks, its configuration, its keys, and operations on it. */

const name = z.string().min(1).max(200);

export const tasksRequestSchema = z.strictObject({
  tasks: z
    .array(
      z.strictObject({
        task_id: name,
        index: z.number().int().nonnegative().describe('The position in the table.'),
        hash: z.string().min(1).max(200).describe('The hash of the content. A known id with another hash is refused.'),
        task: taskSchema.optional().describe('Absent if the content stays at the client.'),
      }),
    )
    .min(1)
    .max(1000)
    .describe('Tasks of the table, in any order. A table may be sent in several parts.'),
  split: z
    .enum(['train', 'evaluation'])
    .default('train')
    .describe('The table of the tasks: for training or for evaluations.'),
  share: shareName.default('default').describe('The kind of task. Each kind has separate tables.'),
  total: z
    .number()
    .int()
    .positive()
    .optional()
    .describe(
      'The total number of tasks, sent with the last part. A list that is not the one of the run then replaces it as a whole.',
    ),
  list: name
    .optional()
    .describe(
      'Names the list that a part belongs to, if it is sent in several parts. Use a hash of all ids and hashes.',
    ),
  again: z
    .boolean()
    .default(false)
    .describe('True: a list that was replaced before becomes the list of the run again.'),
});

export const tasksAnswerSchema = z.strictObject({
  added: z.number().int(),
  known: z.number().int(),
  total: z.number().int().describe('The number of tasks in the table now.'),
  replaced: z.number().int().optional().describe('How often the list of the run was replaced. Absent if it never was.'),
});

const checkpointSchema = z.strictObject({
  policy: z.string().optional().describe('Absent in a run with one policy. Its files are requested with `?policy=`.'),
  step: z.number().int().describe('The step after which it was saved.'),
  files: z
    .array(z.strictObject({ name: z.string().describe('The name of the file.'), bytes: z.number().int() }))
    .describe('Its files, for GET /checkpoints/{step}/{file}.'),
});

export const checkpointsAnswerSchema = z.strictObject({ checkpoints: z.array(checkpointSchema) });

/**
 * `run` is the name of an earlier run of a server that waits for runs. This run is continued with the configuration.
 */
export const runRequestSchema = z.strictObject({
  config: z.record(z.string(), z.unknown()),
  run: z.string().optional().describe('The name of an earlier run that is continued. Absent: a new run begins.'),
});

export const runAnswerSchema = z.strictObject({
  run: z.string().describe('The name of the run.'),
  revision: z.number().int().describe('The revision of its configuration.'),
});

export const operations = ['start', 'pause', 'resume', 'drain', 'stop', 'checkpoint'] as const;

export const operationAnswerSchema = z.strictObject({
  operation_id: z.string(),
  operation: z.enum(operations),
  state: z.enum(['accepted', 'done', 'failed']).describe('Whether the order was carried out.'),
  message: z.string().optional().describe('Why it failed.'),
});

/**
 * `request_id` identifies the request, so a repeated request gets the revision that the first request made. `If-Match`
 * is the revision to change.
 */
export const configRequestSchema = z.strictObject({ request_id: name, changes: z.record(z.string(), z.unknown()) });

export const configAnswerSchema = z.strictObject({
  revision: z.number().int().describe('The revision that the change made.'),
  from_step: z.number().int(),
});

/** The part of each batch that each share gets, by the name of the share. The parts add up to 1. */
export const sharesRequestSchema = z.record(shareName, z.number().positive().max(1));

export const roles = ['observer', 'worker', 'commander'] as const;

const limit = z.number().int().positive();

/** If a limit is absent, the key of a worker or an observer gets the default of the server. */
const keyLimitsSchema = z.strictObject({
  requests_per_second: limit
    .optional()
    .describe('Requests and model calls. A key may save up four seconds of its rates.'),
  bytes_per_second: limit.optional().describe('The sizes of the bodies of these requests.'),
  metadata_bytes: limit.optional().describe('The size of the metadata of one episode, as JSON.'),
  metric_names: limit.optional().describe('The number of different names of metrics and parts of rewards.'),
  event_streams: limit.optional().describe('Streams of events that are open at the same time.'),
});

export const keyRequestSchema = z.strictObject({
  name: name.describe('The name of the key.'),
  role: z.enum(roles).describe('What the key may do: a commander may do everything, an observer only reads.'),
  shares: z.array(shareName).optional().describe('Shares that the key may claim. Absent means all.'),
  scores: z.array(shareName).optional().describe('Shares whose groups the key may list and score.'),
  reward_bounds: z.tuple([z.number(), z.number()]).optional(),
  expires_at: z.iso.datetime().optional(),
  max_episodes: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('The number of episodes that may run at the same time.'),
  limits: keyLimitsSchema.optional().describe('Limits of the key. Without them, the defaults of the server apply.'),
});

/** The limits of a key. The key itself is shown once, in the answer that created it. */
export const keyAnswerSchema = z.strictObject({
  ...keyRequestSchema.shape,
  name: z.string().describe('The name of the key.'),
  key: z.string().optional().describe('The key itself. It is shown only in the answer that made it.'),
  expires_at: z.string().optional(),
});

export const keysAnswerSchema = z.strictObject({ keys: z.array(keyAnswerSchema) });

export const healthAnswerSchema = z.strictObject({ ok: z.boolean().describe('True.') });

export const deletedAnswerSchema = z.strictObject({
  deleted: z.boolean().describe('Whether there was such a key.'),
});

export const serverStates = [
  'offline',
  'booting',
  'recovering',
  'rolling',
  'updating',
  'paused',
  'draining',
  'complete',
  'failed',
] as const;

const shareAnswerSchema = z.strictObject({
  part: z.number().describe("The share's part of the next batch."),
  tasks: z.number().int().describe('The number of its tasks.'),
  in_flight: z.number().int().describe('Groups that are sampled or pooled.'),
  trained: z.number().int().describe('Groups that were trained since the run began.'),
  asked: z.number().int().describe('The number of groups of the share that the newest batch should have had.'),
  got: z.number().int().describe('The number of groups of the share that the newest batch had.'),
  lent: z.number().int().describe('Places of this share that were given to other shares.'),
  carry: z
    .number()
    .describe('The rounding balance in groups: above 0 if the share has received too little, below 0 if too much.'),
  idle: z.boolean().describe('True if no client works for the share now.'),
});

const waitReasons = [
  'groups',
  'clients',
  'tasks',
  'rewards',
  'clients_ask',
  'held',
  'evaluation',
  'updating',
  'saving',
  'paused',
  'stopped',
  'drained',
  'complete',
  'recovering',
  'failed',
  'disk',
] as const;

/** The progress of one policy. The fields are optional, because older servers do not send them. */
const progress = {
  waits_for: z
    .strictObject({
      reason: z.enum(waitReasons).describe('What it waits for, in one word.'),
      text: z.string(),
      since_seconds: z.number(),
    })
    .optional()
    .describe('What the next step waits for: in one word, in a sentence for people, and for how long.'),
  places: z
    .strictObject({ filled: z.number().int(), total: z.number().int().describe('All places of the next batch.') })
    .optional()
    .describe('The places of the next batch that have an episode, and all of its places.'),
  newest_step: z
    .strictObject({
      step: z.number().int().describe('Its number.'),
      episodes: z.number().int().describe('The number of its episodes.'),
      reward: z.number().describe('The mean reward of its episodes.'),
      success: z
        .number()
        .optional()
        .describe('The share of its episodes that succeeded. Absent if no episode says so.'),
      seconds: z
        .number()
        .optional()
        .describe('How long it took to make. Absent if the step was made before this process began.'),
      age_seconds: z
        .number()
        .optional()
        .describe(
          'The seconds since its weights answered the first time. Absent if that was before this process began.',
        ),
    })
    .optional()
    .describe('Absent before the first step.'),
};

const policyAnswerSchema = z.strictObject({
  ...progress,
  state: z
    .enum(['recovering', 'waiting', 'updating', 'saving', 'failed', 'complete'])
    .describe('What the policy does.'),
  step: z.number().int().describe('The number of steps that were decided.'),
  version: z.number().int().describe('The step whose weights answer model calls.'),
  incarnation: z.number().int(),
  groups_open: z.number().int(),
  groups_pooled: z.number().int(),
  account: z.record(z.string(), z.number()).describe("The number of episodes by the state of this policy's part."),
  dropped_by_reason: z.record(z.string(), z.number()),
  gate_wait_seconds: z.number().describe('How long calls have waited for its weights, in total.'),
  problem: z
    .string()
    .optional()
    .describe('For a policy that stopped while the others continue: why, and how to restart it.'),
});

export const serverAnswerSchema = z.strictObject({
  change: z.number().int().describe('A number that grows with every change. Use `?after=` to wait for a newer change.'),
  wire: z.string(),
  run: z.string().optional().describe('The name of the run.'),
  uptime_seconds: z.number().optional(),
  clients: z.number().int().optional().describe('Clients that were heard of lately.'),
  ...progress,
  state: z
    .enum(serverStates)
    .describe('What the server does. `complete` means that all steps are made or all tasks are trained.'),
  step: z.number().int().describe('The number of steps that were decided.'),
  version: z.number().int().describe('The step whose weights answer model calls.'),
  incarnation: z.number().int(),
  groups_open: z.number().int(),
  groups_pooled: z.number().int(),
  running: z.number().int().describe('The number of running episodes.'),
  capacity: z.number().int(),
  config_revision: z.number().int(),
  tasks: z.number().int().describe('The number of tasks in all tables.'),
  account: z.record(z.string(), z.number()),
  dropped_by_reason: z.record(z.string(), z.number()).describe('Acknowledged episodes that were dropped, by reason.'),
  problem: z
    .string()
    .optional()
    .describe(
      'Why training has stopped, and how to restart it. With several policies, each policy has its own `problem`.',
    ),
  shares: z.record(z.string(), shareAnswerSchema).optional().describe('Absent in a run without shares.'),
  policies: z
    .record(z.string(), policyAnswerSchema)
    .optional()
    .describe(
      'Absent in a run with one policy. With several policies, `step` and `version` above belong to the first policy.',
    ),
});

export const readyAnswerSchema = z.strictObject({
  ok: z.boolean().describe('Whether the server takes work.'),
  state: z.enum([...serverStates, 'no_run']).describe('What the server does.'),
});

/**
 * The event `training` of GET /events, which says whether a policy trains. It is sent when a stream begins and with
 * each change. It has no id, because it is not a record.
 */
export const trainingEventSchema = z.strictObject({
  policy: z.string().optional().describe('Absent in a run with one policy.'),
  state: z
    .enum(['recovering', 'training', 'complete', 'failed'])
    .describe(
      '`recovering` means that the model is being opened. `failed` lasts until an operator starts training again.',
    ),
  problem: z.string().optional().describe('For `failed`: why training stopped, and how to restart it.'),
});

/** The clients that have sent a request lately. */
export const clientsAnswerSchema = z.strictObject({
  clients: z
    .array(
      z.strictObject({
        client: z.string(),
        revision: z.string().describe('The revision of its code.'),
        shares: z.array(z.string()).describe('The shares that it can run.'),
        running: z.number().int().describe('Its running episodes.'),
        claims_waiting: z.number().int().describe('Its claims that wait for a place.'),
        silent_seconds: z.number().describe('The time since its last request.'),
        key: z
          .string()
          .optional()
          .describe("The name of its worker key. Absent for a commander's key, and in a swarm without keys."),
      }),
    )
    .describe('The clients, in the order of their first requests.'),
});

/** The orders of operators, the oldest first. */
export const auditAnswerSchema = z.strictObject({
  entries: z.array(
    z.strictObject({ at: z.string(), by: z.string(), what: z.string(), detail: z.record(z.string(), z.unknown()) }),
  ),
  next: z.number().int().optional().describe('The `after` of the next page. Absent on the last page.'),
});

/** The answer to `GET /clients`. */
export type ClientsAnswer = z.infer<typeof clientsAnswerSchema>;
export type AuditAnswer = z.infer<typeof auditAnswerSchema>;
export type CheckpointsAnswer = z.infer<typeof checkpointsAnswerSchema>;
export type RunRequest = z.infer<typeof runRequestSchema>;
export type RunAnswer = z.infer<typeof runAnswerSchema>;
/** The request as a client writes it. Fields with defaults may be left out. */
export type TasksRequest = z.input<typeof tasksRequestSchema>;
export type TasksAnswer = z.infer<typeof tasksAnswerSchema>;
export type ConfigRequest = z.infer<typeof configRequestSchema>;
export type ConfigAnswer = z.infer<typeof configAnswerSchema>;
/** An order that a commander gives the server. */
export type Operation = (typeof operations)[number];
export type OperationAnswer = z.infer<typeof operationAnswerSchema>;
/** What a key may do. */
export type Role = (typeof roles)[number];
export type KeyLimits = z.infer<typeof keyLimitsSchema>;
export type KeyRequest = z.infer<typeof keyRequestSchema>;
/** The answer to `GET /keys`. */
export type KeysAnswer = z.infer<typeof keysAnswerSchema>;
export type KeyAnswer = z.infer<typeof keyAnswerSchema>;
export type ServerState = (typeof serverStates)[number];
export type SharesRequest = z.infer<typeof sharesRequestSchema>;
/** The answer to `GET /server`. */
export type ServerAnswer = z.infer<typeof serverAnswerSchema>;
export type TrainingEvent = z.infer<typeof trainingEventSchema>;

import { z } from 'zod';
import { shareName, taskSchema } from './episodes.js';

/** Schemas of the run as a whole: its tasks, its configuration, its keys, and operations on it. */

const name = z.string().min(1).max(200);

export const tasksRequestSchema = z.strictObject({
  tasks: z
    .array(
      z.strictObject({
        task_id: name,
        /** The position in the table. */
        index: z.number().int().nonnegative(),
        /** The hash of the content. A known id with another hash is refused. */
        hash: z.string().min(1).max(200),
        /** Absent if the content stays at the client. */
        task: taskSchema.optional(),
      }),
    )
    .min(1)
    .max(1000),
  /** The table of the tasks: for training or for evaluations. */
  split: z.enum(['train', 'evaluation']).default('train'),
  /** The kind of task. Each kind has separate tables. */
  share: shareName.default('default'),
  /**
   * The total number of tasks, sent with the last part. A list that is not the one of the run then replaces it as a
   * whole.
   */
  total: z.number().int().positive().optional(),
  /** Names the list that a part belongs to, if it is sent in several parts. Use a hash of all ids and hashes. */
  list: name.optional(),
  /** True: a list that was replaced before becomes the list of the run again. */
  again: z.boolean().default(false),
});

export const tasksAnswerSchema = z.strictObject({
  added: z.number().int(),
  known: z.number().int(),
  total: z.number().int(),
  /** How often the list of the run was replaced. Absent if it never was. */
  replaced: z.number().int().optional(),
});

const checkpointSchema = z.strictObject({
  /** Absent in a run with one policy. Its files are requested with `?policy=`. */
  policy: z.string().optional(),
  step: z.number().int(),
  files: z.array(z.strictObject({ name: z.string(), bytes: z.number().int() })),
});

export const checkpointsAnswerSchema = z.strictObject({ checkpoints: z.array(checkpointSchema) });

/**
 * `run` is the name of an earlier run of a server that waits for runs. This run is continued with the configuration.
 */
export const runRequestSchema = z.strictObject({
  config: z.record(z.string(), z.unknown()),
  run: z.string().optional(),
});

export const runAnswerSchema = z.strictObject({ run: z.string(), revision: z.number().int() });

export const operations = ['start', 'pause', 'resume', 'drain', 'stop', 'checkpoint'] as const;

export const operationAnswerSchema = z.strictObject({
  operation_id: z.string(),
  operation: z.enum(operations),
  state: z.enum(['accepted', 'done', 'failed']),
  message: z.string().optional(),
});

/**
 * `request_id` identifies the request, so a repeated request gets the revision that the first request made. `If-Match`
 * is the revision to change.
 */
export const configRequestSchema = z.strictObject({ request_id: name, changes: z.record(z.string(), z.unknown()) });

export const configAnswerSchema = z.strictObject({ revision: z.number().int(), from_step: z.number().int() });

/** The part of each batch that each share gets, by the name of the share. The parts add up to 1. */
export const sharesRequestSchema = z.record(shareName, z.number().positive().max(1));

export const roles = ['observer', 'worker', 'commander'] as const;

const limit = z.number().int().positive();

/** Without a limit, a worker's and an observer's key gets the default of the server. */
const keyLimitsSchema = z.strictObject({
  /** Requests and model calls. A key may save up four seconds of its rates. */
  requests_per_second: limit.optional(),
  /** The sizes of the bodies of these requests. */
  bytes_per_second: limit.optional(),
  /** The size of the metadata of one episode, as JSON. */
  metadata_bytes: limit.optional(),
  /** The number of different names of metrics and parts of rewards. */
  metric_names: limit.optional(),
  /** Streams of events that are open at the same time. */
  event_streams: limit.optional(),
});

export const keyRequestSchema = z.strictObject({
  name,
  role: z.enum(roles),
  /** Shares that the key may claim. Absent means all. */
  shares: z.array(shareName).optional(),
  /** Shares whose groups the key may list and score. */
  scores: z.array(shareName).optional(),
  reward_bounds: z.tuple([z.number(), z.number()]).optional(),
  expires_at: z.iso.datetime().optional(),
  /** The number of episodes that may run at the same time. */
  max_episodes: z.number().int().positive().optional(),
  limits: keyLimitsSchema.optional(),
});

/** The limits of a key. The key itself is shown once, in the answer that created it. */
export const keyAnswerSchema = z.strictObject({
  ...keyRequestSchema.shape,
  name: z.string(),
  key: z.string().optional(),
  expires_at: z.string().optional(),
});

export const keysAnswerSchema = z.strictObject({ keys: z.array(keyAnswerSchema) });

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
  /** The share's part of the next batch. */
  part: z.number(),
  tasks: z.number().int(),
  /** Groups that are sampled or pooled. */
  in_flight: z.number().int(),
  /** Groups that were trained since the run began. */
  trained: z.number().int(),
  /** The number of groups that the newest batch should have had, and the number that it had. */
  asked: z.number().int(),
  got: z.number().int(),
  /** Places of this share that were given to other shares. */
  lent: z.number().int(),
  /** The rounding balance in groups: above 0 if the share has received too little, below 0 if too much. */
  carry: z.number(),
  /** True if no client works for the share now. */
  idle: z.boolean(),
});

export const waitReasons = [
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

/** The progress of one policy. The fields are optional, because an earlier server does not send them. */
const progress = {
  /** What the next step waits for: in one word, in a sentence for people, and for how long. */
  waits_for: z
    .strictObject({
      reason: z.enum(waitReasons),
      text: z.string(),
      since_seconds: z.number(),
    })
    .optional(),
  /** The places of the next batch that have an episode, and all of its places. */
  places: z.strictObject({ filled: z.number().int(), total: z.number().int() }).optional(),
  /** Absent before the first step. */
  newest_step: z
    .strictObject({
      step: z.number().int(),
      episodes: z.number().int(),
      /** The mean reward of its episodes. */
      reward: z.number(),
      /** The share of its episodes that succeeded. Absent if no episode says so. */
      success: z.number().optional(),
      /** How long it took to make. Absent if the step was made before this process began. */
      seconds: z.number().optional(),
      /** The seconds since its weights answered the first time. Absent if that was before this process began. */
      age_seconds: z.number().optional(),
    })
    .optional(),
};

const policyAnswerSchema = z.strictObject({
  ...progress,
  state: z.enum(['recovering', 'waiting', 'updating', 'saving', 'failed', 'complete']),
  step: z.number().int(),
  version: z.number().int(),
  incarnation: z.number().int(),
  groups_open: z.number().int(),
  groups_pooled: z.number().int(),
  /** The number of episodes by the state of this policy's part. */
  account: z.record(z.string(), z.number()),
  dropped_by_reason: z.record(z.string(), z.number()),
  /** How long calls have waited for its weights, in total. */
  gate_wait_seconds: z.number(),
  /** For a policy that stopped while the others continue: why, and how to restart it. */
  problem: z.string().optional(),
});

export const serverAnswerSchema = z.strictObject({
  /** A number that grows with every change. Use `?after=` to wait for a newer change. */
  change: z.number().int(),
  wire: z.string(),
  /** The name of the run. */
  run: z.string().optional(),
  uptime_seconds: z.number().optional(),
  /** Clients that were heard of lately. */
  clients: z.number().int().optional(),
  ...progress,
  state: z.enum(serverStates),
  step: z.number().int(),
  version: z.number().int(),
  incarnation: z.number().int(),
  groups_open: z.number().int(),
  groups_pooled: z.number().int(),
  running: z.number().int(),
  capacity: z.number().int(),
  config_revision: z.number().int(),
  tasks: z.number().int(),
  account: z.record(z.string(), z.number()),
  /** Acknowledged episodes that were dropped, by reason. */
  dropped_by_reason: z.record(z.string(), z.number()),
  /** Why training has stopped, and how to restart it. With several policies, each policy has its own `problem`. */
  problem: z.string().optional(),
  /** Absent in a run without shares. */
  shares: z.record(z.string(), shareAnswerSchema).optional(),
  /** Absent in a run with one policy. With several policies, `step` and `version` above belong to the first policy. */
  policies: z.record(z.string(), policyAnswerSchema).optional(),
});

/**
 * The event `training` of GET /events, which says whether a policy trains. It is sent when a stream begins and with
 * each change. It has no id, because it is not a record.
 */
export const trainingEventSchema = z.strictObject({
  /** Absent in a run with one policy. */
  policy: z.string().optional(),
  /** `recovering` means that the model is being opened. `failed` lasts until an operator starts training again. */
  state: z.enum(['recovering', 'training', 'complete', 'failed']),
  /** For `failed`: why training stopped, and how to restart it. */
  problem: z.string().optional(),
});

/** The clients that were heard of lately. */
export const clientsAnswerSchema = z.strictObject({
  clients: z.array(
    z.strictObject({
      client: z.string(),
      /** The revision of its code. */
      revision: z.string(),
      /** The shares that it can run. */
      shares: z.array(z.string()),
      /** Its running episodes. */
      running: z.number().int(),
      /** Its claims that wait for a place. */
      claims_waiting: z.number().int(),
      /** The time since its last request. */
      silent_seconds: z.number(),
      /** The name of its worker key. Absent for a commander's key, and in a swarm without keys. */
      key: z.string().optional(),
    }),
  ),
});

/** The orders of operators, the oldest first. */
export const auditAnswerSchema = z.strictObject({
  entries: z.array(
    z.strictObject({ at: z.string(), by: z.string(), what: z.string(), detail: z.record(z.string(), z.unknown()) }),
  ),
});

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
export type Operation = (typeof operations)[number];
export type OperationAnswer = z.infer<typeof operationAnswerSchema>;
export type Role = (typeof roles)[number];
export type KeyLimits = z.infer<typeof keyLimitsSchema>;
export type KeyRequest = z.infer<typeof keyRequestSchema>;
export type KeysAnswer = z.infer<typeof keysAnswerSchema>;
export type KeyAnswer = z.infer<typeof keyAnswerSchema>;
export type ServerState = (typeof serverStates)[number];
export type SharesRequest = z.infer<typeof sharesRequestSchema>;
export type ServerAnswer = z.infer<typeof serverAnswerSchema>;
export type TrainingEvent = z.infer<typeof trainingEventSchema>;

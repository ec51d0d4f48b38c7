import { z } from 'zod';
import { shareName, taskSchema } from './episodes.js';

/** The run as a whole: its tasks, its configuration, its keys, and what may be done to it. */

const name = z.string().min(1).max(200);

export const tasksRequestSchema = z.strictObject({
  tasks: z
    .array(
      z.strictObject({
        task_id: name,
        /** Position in the table. */
        index: z.number().int().nonnegative(),
        /** Hash of the content: the same id with another one is refused. */
        hash: z.string().min(1).max(200),
        /** Absent if the content stays at the client. */
        task: taskSchema.optional(),
      }),
    )
    .min(1)
    .max(1000),
  /** Which table they belong to: what is trained, or what evaluations run. */
  split: z.enum(['train', 'evaluation']).default('train'),
  /** The kind of task; each has separate tables. */
  share: shareName.default('default'),
  /** How many there are in all, with the last part. */
  total: z.number().int().positive().optional(),
});

export const tasksAnswerSchema = z.strictObject({
  added: z.number().int(),
  known: z.number().int(),
  total: z.number().int(),
});

const checkpointSchema = z.strictObject({
  /** Absent in a run with one policy; its files are asked for with `?policy=`. */
  policy: z.string().optional(),
  step: z.number().int(),
  files: z.array(z.strictObject({ name: z.string(), bytes: z.number().int() })),
});

export const checkpointsAnswerSchema = z.strictObject({ checkpoints: z.array(checkpointSchema) });

/** `run`: the name of an earlier run of a waiting server, which goes on with this configuration. */
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

/** `request_id` names the request, so that its repetition gets the revision it made. `If-Match` is the revision it changes. */
export const configRequestSchema = z.strictObject({ request_id: name, changes: z.record(z.string(), z.unknown()) });

export const configAnswerSchema = z.strictObject({ revision: z.number().int(), from_step: z.number().int() });

/** Names of shares with their parts of each batch, which add up to 1. */
export const sharesRequestSchema = z.record(shareName, z.number().positive().max(1));

export const roles = ['observer', 'worker', 'commander'] as const;

export const keyRequestSchema = z.strictObject({
  name,
  role: z.enum(roles),
  /** Shares that the key may claim; absent: all. */
  shares: z.array(shareName).optional(),
  /** Shares whose groups the key may list and score. */
  scores: z.array(shareName).optional(),
  reward_bounds: z.tuple([z.number(), z.number()]).optional(),
  expires_at: z.iso.datetime().optional(),
  max_episodes: z.number().int().positive().optional(),
});

/** What a key is limited to. The key itself is shown once, in the answer that made it. */
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
  'failed',
] as const;

const shareAnswerSchema = z.strictObject({
  /** Of the next batch. */
  part: z.number(),
  tasks: z.number().int(),
  /** Groups that are sampled or pooled. */
  in_flight: z.number().int(),
  /** Groups that were trained since the run began. */
  trained: z.number().int(),
  /** Groups that the newest batch was to have, and that it had. */
  asked: z.number().int(),
  got: z.number().int(),
  /** Places of this share that were given to others. */
  lent: z.number().int(),
  /** What rounding owes the share (above 0) or gave it too much, in groups. */
  carry: z.number(),
  /** Nobody works for it now. */
  idle: z.boolean(),
});

const policyAnswerSchema = z.strictObject({
  state: z.enum(['recovering', 'waiting', 'updating', 'saving', 'failed', 'complete']),
  step: z.number().int(),
  version: z.number().int(),
  incarnation: z.number().int(),
  groups_open: z.number().int(),
  groups_pooled: z.number().int(),
  /** Of its parts of all episodes. */
  account: z.record(z.string(), z.number()),
  dropped_by_reason: z.record(z.string(), z.number()),
  /** How long calls have waited for its weights, in all. */
  gate_wait_seconds: z.number(),
  /** Of a policy that stopped while the others go on: why, and how to bring it back. */
  problem: z.string().optional(),
});

export const serverAnswerSchema = z.strictObject({
  /** Grows with every change: wait for a newer one with `?after=`. */
  change: z.number().int(),
  wire: z.string(),
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
  /** Reasons of acknowledged episodes that were dropped. */
  dropped_by_reason: z.record(z.string(), z.number()),
  /** Why training has stopped, and how to bring it back. With several policies each says it of itself. */
  problem: z.string().optional(),
  /** Absent in a run without shares. */
  shares: z.record(z.string(), shareAnswerSchema).optional(),
  /** Absent in a run with one policy. With several, step and version above are those of the first. */
  policies: z.record(z.string(), policyAnswerSchema).optional(),
});

/**
 * The event `training` of GET /events: whether a policy trains. Told when a stream begins and with each change, without an id,
 * because it is not a record.
 */
export const trainingEventSchema = z.strictObject({
  /** Absent in a run with one policy. */
  policy: z.string().optional(),
  /** `recovering`: its model is being opened. `failed`: it stays so until an operator starts it. */
  state: z.enum(['recovering', 'training', 'complete', 'failed']),
  /** Of `failed`: why training stopped, and how to bring it back. */
  problem: z.string().optional(),
});

/** What operators have asked for, the oldest first. */
export const auditAnswerSchema = z.strictObject({
  entries: z.array(
    z.strictObject({ at: z.string(), by: z.string(), what: z.string(), detail: z.record(z.string(), z.unknown()) }),
  ),
});

export type AuditAnswer = z.infer<typeof auditAnswerSchema>;
export type CheckpointsAnswer = z.infer<typeof checkpointsAnswerSchema>;
export type RunRequest = z.infer<typeof runRequestSchema>;
export type RunAnswer = z.infer<typeof runAnswerSchema>;
/** As a client writes it: fields with defaults may be left out. */
export type TasksRequest = z.input<typeof tasksRequestSchema>;
export type TasksAnswer = z.infer<typeof tasksAnswerSchema>;
export type ConfigRequest = z.infer<typeof configRequestSchema>;
export type ConfigAnswer = z.infer<typeof configAnswerSchema>;
export type Operation = (typeof operations)[number];
export type OperationAnswer = z.infer<typeof operationAnswerSchema>;
export type Role = (typeof roles)[number];
export type KeyRequest = z.infer<typeof keyRequestSchema>;
export type KeysAnswer = z.infer<typeof keysAnswerSchema>;
export type KeyAnswer = z.infer<typeof keyAnswerSchema>;
export type ServerState = (typeof serverStates)[number];
export type SharesRequest = z.infer<typeof sharesRequestSchema>;
export type ServerAnswer = z.infer<typeof serverAnswerSchema>;
export type TrainingEvent = z.infer<typeof trainingEventSchema>;

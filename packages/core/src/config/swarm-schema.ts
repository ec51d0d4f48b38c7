import { z } from 'zod';
import { setting } from './setting.js';

/** The section of a swarm's server. */

const positive = z.number().positive();
const text = z.string().min(1);
/** The maximum of a time limit, because timers of Node cannot wait longer than 2^31 milliseconds. */
const mostSeconds = 2_000_000;

/** Whether a name may be the key of an object. Every object already has properties such as `constructor`. */
const isFree = (name: string): boolean => !(name in {});

const shareName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'letters, digits, dots, dashes, underscores')
  .refine(isFree, 'another name, because every JavaScript object has a property of this name');

/** The rules that decide when a step has enough episodes. */
export const sampleCollections = [
  'enough_tasks',
  'enough_episodes',
  'enough_informative_tasks',
  'any_client_asks',
  'all_clients_ask',
] as const;
const originalCollections = [
  'finish_enough_tasks',
  'finish_enough_episodes',
  'finish_enough_non_dummy_tasks',
  'any_client_agree_sync_weight',
  'all_client_agree_sync_weight',
] as const;

/** A policy's name has the form of a YAML key, because it is a key and a folder of the run. */
const policyName = /^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$/;

function areSeveral(
  policies: Readonly<Record<string, unknown>>,
  context: { readonly addIssue: (message: string) => void },
): void {
  const names = Object.keys(policies);
  if (!names.every((name) => policyName.test(name) && isFree(name)))
    context.addIssue('names such as planner or second_worker');
  if (names.length === 1) context.addIssue('two policies or more; for one, write its keys in the sections themselves');
  if (names.includes('default'))
    context.addIssue('without a policy named "default", which is the name of a single policy');
}

function addUpToOne(
  shares: readonly { readonly name: string; readonly part: number }[],
  context: { readonly addIssue: (message: string) => void },
): void {
  const sum = shares.reduce((total, { part }) => total + part, 0);
  if (shares.length > 0 && Math.abs(sum - 1) > 0.01)
    context.addIssue(`parts that add up to 1; these add up to ${Number(sum.toFixed(4))}`);
  if (new Set(shares.map(({ name }) => name)).size < shares.length) context.addIssue('names that differ');
}

export const swarm = z
  .strictObject({
    recovery_budget: setting(
      positive.max(mostSeconds),
      120,
      'seconds that repeating the steps since the last checkpoint may take; a checkpoint is written before it takes longer. Saving takes at most a tenth of the time',
    ),
    store_dir: setting(
      text.nullable(),
      null,
      'a folder on a local disk in which each run gets a folder for its ledger; null: ledger/ in the run folder',
      { path: 'output' },
    ),
    sync: setting(
      z.enum(['ends', 'calls']),
      'ends',
      'what is written to disk before a request is answered, so that it survives a power cut: ends (ends of episodes) | calls (model calls too, which costs each call a write; without it a power cut drops the running episodes)',
    ),
    shares: setting(
      z.array(z.strictObject({ name: shareName, part: z.number().gt(0).max(1) })).superRefine(addUpToOne),
      [],
      'kinds of tasks and their parts of every batch, such as [{name: math, part: 0.6}, {name: code, part: 0.4}]. none: all tasks are of one kind. `ajet swarm shares` changes them during training',
      { isPlain: true },
    ),
    policies: setting(
      z.record(z.string(), z.record(z.string(), z.unknown())).superRefine(areSeveral),
      {},
      'several models in one run or server, by name, each with its own weights: `{planner: {trainable_targets: [planner]}, worker: {trainable_targets: [worker], model: {path: nano}}}`. Each names its agents and the keys of model, backbone, trainer_common, data and sampling that differ for it. none: one model',
    ),
    share_mode: setting(
      z.enum(['elastic', 'strict']),
      'elastic',
      'what happens to a share without tasks or clients: elastic (lends its places to others) | strict (the batch waits for it)',
    ),
    share_patience: setting(
      positive.max(mostSeconds),
      60,
      'elastic: seconds without a client after which a share lends its places',
    ),
    order: setting(
      z.enum(['pool', 'drawn']),
      'pool',
      'the groups that a step takes: pool (the first that can be trained; others replace those that failed, and a slow client delays nobody) | drawn (the drawn groups in their order, as in every ordinary run; a step waits for each, and max_staleness limits how many batches are sampled ahead)',
    ),
    sample_collection: setting(
      z.enum([...sampleCollections, ...originalCollections]),
      'enough_tasks',
      "when a step is made: enough_tasks | enough_episodes | enough_informative_tasks (with two different rewards) | any_client_asks | all_clients_ask (the batch is everything sampled until then). The original's names work too",
    ),
  })
  .describe('ajet swarm serve');

import { z } from 'zod';
import * as episodes from './episodes.js';
import type { ErrorCode } from './error-codes.js';
import * as run from './operations.js';
import * as queries from './queries.js';

/** A route under `/swarm/v1`: who may call it, what it accepts and what it answers. */
export type Route = {
  readonly method: 'get' | 'put' | 'post' | 'patch' | 'delete';
  /** The path, with `{name}` for parameters. */
  readonly path: string;
  /** The lowest role that may call it. Undefined means that no key is needed. */
  readonly role: run.Role | undefined;
  readonly summary: string;
  /** The parameters in the path. */
  readonly params?: Readonly<Record<string, z.ZodType>>;
  /** The parameters of the query. A request with any other parameter is refused. */
  readonly query?: z.ZodObject;
  /** Headers of the request, in addition to those of every request. */
  readonly headers?: z.ZodObject;
  readonly request?: z.ZodType;
  /** The JSON of each answer, by status. Undefined if the answer is not JSON. `media` then names the type. */
  readonly answers: Readonly<Record<number, z.ZodType | undefined>>;
  readonly media?: string;
  /** The errors of this route, in addition to the errors of its role and its body. */
  readonly errors?: readonly ErrorCode[];
};

const route = (
  method: Route['method'],
  path: string,
  role: Route['role'],
  more: Omit<Route, 'method' | 'path' | 'role'>,
): Route => ({ method, path, role, ...more });

const idOf = (what: string) => ({ id: z.string().describe(`The id of the ${what}.`) });

export const routes: readonly Route[] = [
  route('get', '/healthz', undefined, {
    summary: 'Says that the process is alive',
    answers: { 200: run.healthAnswerSchema },
  }),
  route('get', '/readyz', undefined, {
    summary: 'Says whether the server takes work: 503 while it recovers or drains, and after it has failed',
    answers: { 200: run.readyAnswerSchema, 503: run.readyAnswerSchema },
  }),
  route('get', '/server', 'observer', {
    summary: 'Shows state, versions, pool and what each step waits for; with after and wait, it waits for a change',
    query: queries.serverQuerySchema,
    answers: { 200: run.serverAnswerSchema },
    errors: ['invalid_request'],
  }),
  route('get', '/events', 'observer', {
    summary: 'Streams events as server-sent events; `training` says whether the policies train, and why they do not',
    headers: queries.eventsHeaders,
    answers: { 200: undefined },
    media: 'text/event-stream',
    errors: ['too_many_streams'],
  }),
  route('put', '/run', 'commander', {
    summary: 'Begins a run, or checks that the open run is this one',
    request: run.runRequestSchema,
    answers: { 200: run.runAnswerSchema, 201: run.runAnswerSchema },
    errors: ['other_run', 'unknown_config', 'needs_new_run', 'code_refused'],
  }),
  route('delete', '/run', 'commander', {
    summary: 'Ends the run of a server that waits for runs: a checkpoint is saved, and another run may begin',
    answers: { 202: run.runAnswerSchema },
    errors: ['wrong_method'],
  }),
  route('post', '/run/{operation}', 'commander', {
    summary: 'Starts, pauses, resumes, drains, stops or saves the run',
    params: { operation: z.enum(run.operations).describe('The order.') },
    headers: queries.idempotencyHeaders,
    answers: { 200: run.operationAnswerSchema, 202: run.operationAnswerSchema },
    errors: ['unknown_operation', 'name_taken', 'invalid_request'],
  }),
  route('get', '/operations/{id}', 'observer', {
    summary: 'Shows the progress of an operation',
    params: idOf('order'),
    answers: { 200: run.operationAnswerSchema },
    errors: ['unknown_operation'],
  }),
  route('patch', '/run/config', 'commander', {
    summary: 'Changes parameters; If-Match names the revision',
    headers: queries.configHeaders,
    request: run.configRequestSchema,
    answers: { 200: run.configAnswerSchema },
    errors: ['revision_conflict', 'unknown_config', 'needs_reload', 'needs_new_run', 'name_taken'],
  }),
  route('put', '/shares', 'commander', {
    summary: 'Sets the part of each share in a batch',
    headers: queries.idempotencyHeaders,
    request: run.sharesRequestSchema,
    answers: { 200: run.configAnswerSchema },
    errors: ['unknown_config', 'name_taken'],
  }),
  route('post', '/tasks', 'worker', {
    summary: 'Adds tasks to the table',
    request: run.tasksRequestSchema,
    answers: { 200: run.tasksAnswerSchema },
    errors: ['other_task', 'tasks_missing', 'unknown_share'],
  }),
  route('post', '/episodes', 'worker', {
    summary: 'Claims episodes',
    request: episodes.claimRequestSchema,
    answers: { 200: episodes.claimAnswerSchema, 201: episodes.claimAnswerSchema },
    errors: ['unknown_share', 'name_taken', 'gone'],
  }),
  route('get', '/episodes', 'observer', {
    summary: 'Lists episodes and their states',
    query: queries.episodesQuerySchema,
    answers: { 200: episodes.episodesAnswerSchema },
    errors: ['invalid_request'],
  }),
  route('delete', '/episodes', 'commander', {
    summary: 'Drops the episodes of a key that are in no step yet',
    query: queries.dropQuerySchema,
    answers: { 200: episodes.dropAnswerSchema },
    errors: ['invalid_request'],
  }),
  route('get', '/clients', 'observer', {
    summary: 'Lists the clients that were heard of lately',
    answers: { 200: run.clientsAnswerSchema },
  }),
  route('get', '/audit', 'commander', {
    summary: 'Lists the orders of operators, oldest first',
    query: queries.auditQuerySchema,
    answers: { 200: run.auditAnswerSchema },
    errors: ['invalid_request'],
  }),
  route('get', '/episodes/{id}', 'observer', {
    summary: 'Shows one episode',
    params: idOf('episode'),
    answers: { 200: episodes.episodeAnswerSchema },
    errors: ['gone'],
  }),
  route('post', '/heartbeats', 'worker', {
    summary: 'Renews leases',
    request: episodes.heartbeatRequestSchema,
    answers: { 200: episodes.heartbeatAnswerSchema },
    errors: ['name_taken', 'gone'],
  }),
  route('post', '/episodes/{id}/end', 'worker', {
    summary: 'Ends an episode with its reward',
    params: idOf('episode'),
    request: episodes.endRequestSchema,
    answers: { 200: episodes.receiptSchema },
    errors: [
      'foreign_episode',
      'ended_differently',
      'gone',
      'reward_out_of_bounds',
      'metadata_too_large',
      'too_many_metrics',
    ],
  }),
  route('post', '/episodes/{id}/abandon', 'worker', {
    summary: 'Gives an episode back',
    params: idOf('episode'),
    request: episodes.abandonRequestSchema,
    answers: { 200: episodes.abandonAnswerSchema },
    errors: ['foreign_episode', 'gone'],
  }),
  route('get', '/groups', 'worker', {
    summary: 'Lists groups that wait for rewards',
    query: queries.groupsQuerySchema,
    answers: { 200: episodes.groupsAnswerSchema },
    errors: ['invalid_request'],
  }),
  route('put', '/groups/{id}/rewards', 'worker', {
    summary: 'Sets new rewards for a whole group',
    params: idOf('group'),
    request: episodes.rewardsRequestSchema,
    answers: { 200: episodes.groupAnswerSchema },
    errors: ['unknown_group', 'assigned', 'not_whole_group', 'revision_conflict', 'reward_out_of_bounds'],
  }),
  route('post', '/keys', 'commander', {
    summary: 'Makes a key, which is shown once',
    request: run.keyRequestSchema,
    answers: { 201: run.keyAnswerSchema },
    errors: ['name_taken'],
  }),
  route('get', '/keys', 'commander', {
    summary: 'Lists keys without their secrets',
    answers: { 200: run.keysAnswerSchema },
  }),
  route('delete', '/keys/{name}', 'commander', {
    summary: 'Deletes a key and gives its episodes back',
    params: { name: z.string().describe('The name of the key.') },
    answers: { 200: run.deletedAnswerSchema },
    errors: ['invalid_request'],
  }),
  route('get', '/checkpoints', 'commander', {
    summary: 'Lists checkpoints and their files',
    answers: { 200: run.checkpointsAnswerSchema },
  }),
  route('get', '/checkpoints/{step}/{file}', 'commander', {
    summary: 'Downloads one listed file of a checkpoint, whole or in part',
    params: {
      step: z.string().describe('The step of the checkpoint.'),
      file: z.string().describe('The name of the file, which may contain slashes.'),
    },
    query: queries.checkpointQuerySchema,
    headers: queries.rangeHeaders,
    answers: { 200: undefined, 206: undefined, 416: undefined },
    media: 'application/octet-stream',
    errors: ['unknown_route', 'invalid_request'],
  }),
  route('get', '/metrics', 'observer', {
    summary: 'Shows metrics in the format of Prometheus',
    answers: { 200: undefined },
    media: 'text/plain; version=0.0.4; charset=utf-8',
  }),
  route('get', '/openapi.json', 'observer', {
    summary: 'Shows this contract',
    answers: { 200: z.record(z.string(), z.unknown()) },
  }),
];

const errorsOfKeys: readonly ErrorCode[] = [
  'missing_key',
  'unknown_key',
  'expired_key',
  'wrong_role',
  'foreign_origin',
  'too_many_requests',
];
const errorsOfBodies: readonly ErrorCode[] = [
  'invalid_json',
  'invalid_request',
  'slow_body',
  'too_large',
  'unsupported_media_type',
];
const errorsOfServers: readonly ErrorCode[] = [
  'wire_version',
  'no_run',
  'failed',
  'not_ready',
  'not_owner',
  'store_failed',
  'store_full',
];

/** Returns every error that a route may answer with. */
export function errorsOf({ role, request, errors = [] }: Route): readonly ErrorCode[] {
  if (role === undefined) return errors;
  return [
    ...new Set([...errorsOfServers, ...errorsOfKeys, ...(request === undefined ? [] : errorsOfBodies), ...errors]),
  ];
}

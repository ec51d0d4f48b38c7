import type { z } from 'zod';
import * as episodes from './episodes.js';
import * as run from './operations.js';

/** A route under `/swarm/v1`: who may call it, what it accepts and what it answers. */
export type Route = {
  readonly method: 'get' | 'put' | 'post' | 'patch' | 'delete';
  /** The path, with `{name}` for parameters. */
  readonly path: string;
  /** The lowest role that may call it. Undefined means that no key is needed. */
  readonly role: run.Role | undefined;
  readonly summary: string;
  readonly request?: z.ZodType;
  readonly answers: Readonly<Record<number, z.ZodType | undefined>>;
};

export const routes: readonly Route[] = [
  {
    method: 'get',
    path: '/healthz',
    role: undefined,
    summary: 'Says that the process is alive',
    answers: { 200: undefined },
  },
  {
    method: 'get',
    path: '/readyz',
    role: undefined,
    summary: 'Says whether the server accepts requests',
    answers: { 200: undefined },
  },
  {
    method: 'get',
    path: '/server',
    role: 'observer',
    summary: 'Shows state, versions and pool; with after and wait, it waits for a change',
    answers: { 200: run.serverAnswerSchema },
  },
  {
    method: 'get',
    path: '/events',
    role: 'observer',
    summary: 'Streams events as server-sent events; `training` says whether the policies train, and why they do not',
    answers: { 200: undefined },
  },
  {
    method: 'put',
    path: '/run',
    role: 'commander',
    summary: 'Begins a run',
    request: run.runRequestSchema,
    answers: { 200: run.runAnswerSchema, 201: run.runAnswerSchema },
  },
  {
    method: 'delete',
    path: '/run',
    role: 'commander',
    summary: 'Ends the run of a server that waits for runs: a checkpoint is saved, and another run may begin',
    answers: { 202: run.runAnswerSchema },
  },
  {
    method: 'post',
    path: '/run/{operation}',
    role: 'commander',
    summary: 'Starts, pauses, resumes, drains, stops or saves the run',
    answers: { 200: run.operationAnswerSchema, 202: run.operationAnswerSchema },
  },
  {
    method: 'get',
    path: '/operations/{id}',
    role: 'observer',
    summary: 'Shows the progress of an operation',
    answers: { 200: run.operationAnswerSchema },
  },
  {
    method: 'patch',
    path: '/run/config',
    role: 'commander',
    summary: 'Changes parameters; If-Match names the revision',
    request: run.configRequestSchema,
    answers: { 200: run.configAnswerSchema },
  },
  {
    method: 'put',
    path: '/shares',
    role: 'commander',
    summary: 'Sets the part of each share in a batch',
    request: run.sharesRequestSchema,
    answers: { 200: run.configAnswerSchema },
  },
  {
    method: 'post',
    path: '/tasks',
    role: 'worker',
    summary: 'Adds tasks to the table',
    request: run.tasksRequestSchema,
    answers: { 200: run.tasksAnswerSchema },
  },
  {
    method: 'post',
    path: '/episodes',
    role: 'worker',
    summary: 'Claims episodes',
    request: episodes.claimRequestSchema,
    answers: { 200: episodes.claimAnswerSchema, 201: episodes.claimAnswerSchema },
  },
  {
    method: 'get',
    path: '/episodes',
    role: 'observer',
    summary: 'Lists episodes and their states',
    answers: { 200: episodes.episodesAnswerSchema },
  },
  {
    method: 'delete',
    path: '/episodes',
    role: 'commander',
    summary: 'Drops the episodes of a key that are in no step yet',
    answers: { 200: undefined },
  },
  {
    method: 'get',
    path: '/clients',
    role: 'observer',
    summary: 'Lists the clients that were heard of lately',
    answers: { 200: run.clientsAnswerSchema },
  },
  {
    method: 'get',
    path: '/audit',
    role: 'commander',
    summary: 'Lists the orders of operators',
    answers: { 200: run.auditAnswerSchema },
  },
  {
    method: 'get',
    path: '/episodes/{id}',
    role: 'observer',
    summary: 'Shows one episode',
    answers: { 200: episodes.episodeAnswerSchema },
  },
  {
    method: 'post',
    path: '/heartbeats',
    role: 'worker',
    summary: 'Renews leases',
    request: episodes.heartbeatRequestSchema,
    answers: { 200: episodes.heartbeatAnswerSchema },
  },
  {
    method: 'post',
    path: '/episodes/{id}/end',
    role: 'worker',
    summary: 'Ends an episode with its reward',
    request: episodes.endRequestSchema,
    answers: { 200: episodes.receiptSchema },
  },
  {
    method: 'post',
    path: '/episodes/{id}/abandon',
    role: 'worker',
    summary: 'Gives an episode back',
    request: episodes.abandonRequestSchema,
    answers: { 200: episodes.abandonAnswerSchema },
  },
  {
    method: 'get',
    path: '/groups',
    role: 'worker',
    summary: 'Lists groups that wait for rewards',
    request: episodes.groupsQuerySchema,
    answers: { 200: episodes.groupsAnswerSchema },
  },
  {
    method: 'put',
    path: '/groups/{id}/rewards',
    role: 'worker',
    summary: 'Sets new rewards for a whole group',
    request: episodes.rewardsRequestSchema,
    answers: { 200: episodes.groupAnswerSchema },
  },
  {
    method: 'post',
    path: '/keys',
    role: 'commander',
    summary: 'Makes a key, which is shown once',
    request: run.keyRequestSchema,
    answers: { 201: run.keyAnswerSchema },
  },
  {
    method: 'get',
    path: '/keys',
    role: 'commander',
    summary: 'Lists keys without their secrets',
    answers: { 200: run.keysAnswerSchema },
  },
  {
    method: 'delete',
    path: '/keys/{name}',
    role: 'commander',
    summary: 'Deletes a key and gives its episodes back',
    answers: { 200: undefined },
  },
  {
    method: 'get',
    path: '/checkpoints',
    role: 'commander',
    summary: 'Lists checkpoints and their files',
    answers: { 200: run.checkpointsAnswerSchema },
  },
  {
    method: 'get',
    path: '/checkpoints/{step}/{file}',
    role: 'commander',
    summary: 'Downloads one listed file of a checkpoint, whole or in part',
    answers: { 200: undefined, 206: undefined },
  },
  {
    method: 'get',
    path: '/metrics',
    role: 'observer',
    summary: 'Shows metrics in the format of Prometheus',
    answers: { 200: undefined },
  },
  {
    method: 'get',
    path: '/openapi.json',
    role: 'observer',
    summary: 'Shows this contract',
    answers: { 200: undefined },
  },
];

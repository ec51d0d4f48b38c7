import { AgentJetError } from '@agentjet/core';

/**
 * The error of a store that cannot do what was requested. Codes: `not_owner` (another server took the store over),
 * `owned` (another server is alive), `failed` (a commit or a sync failed), `full` (the disk is full), `damaged` (a
 * record does not match its checksum), `other_format` (another version of the store), `file_system` (not a local disk),
 * `closed`.
 */
export class StoreError extends AgentJetError {}

export const notOwner = (): StoreError =>
  new StoreError('not_owner', 'Another server has taken the store over; this one stops.');

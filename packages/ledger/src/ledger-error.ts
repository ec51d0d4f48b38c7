import { AgentJetError } from '@agentjet/core';

/**
 * A request that the ledger refuses, or a record that contradicts earlier records. Codes: `broken_record` (our bug, or
 * a damaged store), `unknown_group`, `unknown_place`, `unknown_episode`, `group_over`, `dropped`, `ended_differently`,
 * `bad_reward`, `bad_rules`, `not_whole_group`, `revision_conflict`, `not_trainable`.
 */
export class LedgerError extends AgentJetError {}

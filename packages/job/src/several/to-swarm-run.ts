import { type CommonConfig, sha256 } from '@agentjet/core';
import { hashCode, type JobInputs } from '@agentjet/inputs';
import { evaluatesAtAll } from '@agentjet/local-run';
import { wrapWithCallLimit } from '@agentjet/rollout';
import type { SwarmRunOptions } from '@agentjet/swarm-client';

/** The options with which a client of a swarm runs the workflow of a configuration. */
export function toSwarmRun(
  config: CommonConfig,
  { judge, reader, environment }: Pick<JobInputs, 'judge' | 'reader' | 'environment'>,
): SwarmRunOptions {
  const { rollout, trainableTargets, trainerCommon, environment: limits } = config;
  return {
    tasks: reader.trainingTasks(),
    ...(evaluatesAtAll(trainerCommon) && { evaluationTasks: reader.evaluationTasks() }),
    judge,
    environment,
    maxSessions: limits.maxSessions,
    openTimeoutSeconds: limits.openTimeout,
    callTimeoutSeconds: limits.callTimeout,
    trainableTargets,
    parallel: rollout.maxEnvWorker,
    timeoutSeconds: rollout.episodeTimeout,
    scorePatienceSeconds: rollout.scorePatience,
    wrapModel: wrapWithCallLimit(config),
  };
}

/** Returns a revision that changes with the files of workflow and judge. Files that they import are not read. */
export function revisionOf(config: CommonConfig): string {
  const hashes = hashCode({ workflow: config.rollout.userWorkflow, judge: config.taskJudge });
  return sha256(JSON.stringify(hashes)).slice(0, 12);
}

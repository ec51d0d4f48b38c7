import path from 'node:path';
import type { CommonConfig } from '@agentjet/core';
import { followRun } from './follow-run.js';

/** The part of the configuration that concerns trackers. */
export type TrackersConfig = Pick<CommonConfig, 'trainerCommon' | 'projectName' | 'experimentName'>;

/** Returns the names of trackers. `console` is left out, because every run prints its steps. */
export const trackerNames = ({ trainerCommon }: TrackersConfig): readonly string[] =>
  [trainerCommon.logger].flat().filter((name) => name !== 'console');

/**
 * The files of a served run. If there are several policies, each has a folder with its metrics. A single policy uses
 * the folder of the run.
 */
type ServedFiles = {
  readonly config: TrackersConfig;
  readonly runDir: string;
  readonly policies: readonly { readonly name: string; readonly dir: string }[];
  readonly onNotice: (message: string) => void;
};

type RunFollower = {
  readonly wake: (policy: string) => void;
  readonly close: () => Promise<void>;
  readonly leave: () => Promise<void>;
};

/**
 * Follows the metrics of a served run and sends them to the trackers of `trainer_common.logger`. Code that starts a
 * server passes this function: `serveSwarm({ ..., follow: loadRunFollower })`. If there are several policies, each is a
 * separate run in the tracker, named after the experiment and the policy.
 */
export async function loadRunFollower({ config, runDir, policies, onNotice }: ServedFiles): Promise<RunFollower> {
  const trackers = trackerNames(config);
  if (trackers.length === 0) return nobody;
  const { projectName: project, experimentName, trainerCommon } = config;
  const name = path.basename(runDir);
  const isOnly = policies.length === 1;
  const byPolicy = new Map(
    policies.map((policy) => {
      const experiment = isOnly ? experimentName : `${experimentName}-${policy.name}`;
      const say = (message: string): void => onNotice(isOnly ? message : `${policy.name}: ${message}`);
      const { traceSample } = trainerCommon;
      const run = { runDir: policy.dir, project, experiment, name, traceSample, onNotice: say };
      return [policy.name, followRun(trackers, run)] as const;
    }),
  );
  const all = [...byPolicy.values()];
  return {
    wake: (policy) => byPolicy.get(policy)?.wake(),
    close: async () => void (await Promise.all(all.map((each) => each.close()))),
    leave: async () => void (await Promise.all(all.map((each) => each.leave()))),
  };
}

/** Follows nothing, because no tracker is named. */
const nobody: RunFollower = { wake: () => undefined, close: async () => undefined, leave: async () => undefined };

import path from 'node:path';
import type { CommonConfig } from '@agentjet/core';
import { followRun } from './follow-run.js';

/** What a configuration says of trackers. */
export type TrackersConfig = Pick<CommonConfig, 'trainerCommon' | 'projectName' | 'experimentName'>;

/** Every run prints its steps: `console` is none. */
export const trackerNames = ({ trainerCommon }: TrackersConfig): readonly string[] =>
  [trainerCommon.logger].flat().filter((name) => name !== 'console');

/** A run that a server trains: each of its policies has a folder with metrics, a single one that of the run. */
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
 * For servers from code: `serveSwarm({ ..., follow: loadRunFollower })` sends what a run writes to the trackers of
 * `trainer_common.logger`. Each of several policies is a run there, with its name after that of the experiment.
 */
export async function loadRunFollower({ config, runDir, policies, onNotice }: ServedFiles): Promise<RunFollower> {
  const trackers = trackerNames(config);
  if (trackers.length === 0) return nobody;
  const { projectName: project, experimentName } = config;
  const name = path.basename(runDir);
  const isOnly = policies.length === 1;
  const byPolicy = new Map(
    policies.map((policy) => {
      const experiment = isOnly ? experimentName : `${experimentName}-${policy.name}`;
      const say = (message: string): void => onNotice(isOnly ? message : `${policy.name}: ${message}`);
      const run = { runDir: policy.dir, project, experiment, name, onNotice: say };
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

/** No tracker is named, so none is loaded. */
const nobody: RunFollower = { wake: () => undefined, close: async () => undefined, leave: async () => undefined };

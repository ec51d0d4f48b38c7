import type { CommonConfig } from '@agentjet/core';
import type { JobListener } from '@agentjet/records';
import { followRun, trackerNames, type FollowedRun, type TrackersConfig } from '@agentjet/trackers';

/** Events after which there is a line to send. */
const wakers: ReadonlySet<string> = new Set(['step_finished', 'evaluated', 'held_out']);

/**
 * Runs a job and the trackers that its configuration names. Trackers follow the run's files, so the job waits for them
 * only at its end.
 */
export async function withTrackers<T>(
  config: TrackersConfig & Pick<CommonConfig, 'swarm'>,
  onEvent: JobListener,
  run: (onEvent: JobListener) => Promise<T>,
): Promise<T> {
  const names = trackerNames(config);
  // A run of several policies starts the trackers of each policy itself.
  if (names.length === 0 || Object.keys(config.swarm.policies).length > 0) return run(onEvent);
  let followed: FollowedRun | undefined;
  const { projectName: project, experimentName: experiment, trainerCommon } = config;
  const { traceSample } = trainerCommon;
  const onNotice = (message: string): void => onEvent({ type: 'notice', message });
  try {
    return await run((event) => {
      onEvent(event);
      if (event.type === 'run_started')
        followed = followRun(names, { runDir: event.runDir, project, experiment, traceSample, onNotice });
      if (wakers.has(event.type)) followed?.wake();
    });
  } finally {
    await followed?.close();
  }
}

import { WorkflowError, type CommonConfig } from '@agentjet/core';
import { Diagnosis, type EarlierLines } from '@agentjet/diagnose';
import type { JobListener } from '@agentjet/records';
import { noticeFindings } from './notice-findings.js';
import { noticeHistories } from './notice-histories.js';
import { noticeSampling } from './notice-sampling.js';
import { withStallNotice } from './with-stall-notice.js';

export type WatchedSteps = {
  readonly listener: JobListener;
  /** Throws WorkflowError `collapsed` if the evaluations show a collapse and `stop_on_collapse` is true. */
  readonly checkCollapse: () => void;
};

type Watched = {
  readonly config: CommonConfig;
  /** The lines of the earlier part of a resumed run. */
  readonly earlier?: EarlierLines | undefined;
};

/** Passes events on, and reports what their episodes, steps and evaluations show: each finding once. */
export function watchSteps(emit: JobListener, { config, earlier }: Watched): WatchedSteps {
  const diagnosis = new Diagnosis(config, { earlier });
  const sampling = noticeSampling(noticeHistories(noticeFindings(emit, diagnosis)), config);
  return {
    listener: withStallNotice(sampling, config.trainableTargets, config.rollout.userWorkflow),
    checkCollapse: () => {
      const reason = config.trainerCommon.stopOnCollapse ? diagnosis.collapse() : undefined;
      if (reason !== undefined)
        throw new WorkflowError('collapsed', `${reason} The run ends because trainer_common.stop_on_collapse is true.`);
    },
  };
}

import type { CommonConfig } from '@agentjet/core';
import type { JobListener } from '@agentjet/records';
import { noticeFindings } from './notice-findings.js';
import { noticeHistories } from './notice-histories.js';
import { noticeSampling } from './notice-sampling.js';
import { withStallNotice } from './with-stall-notice.js';

/** Passes events on, and reports what their episodes, steps and evaluations show. Each finding is reported once. */
export function noticeSteps(emit: JobListener, config: CommonConfig): JobListener {
  const sampling = noticeSampling(noticeHistories(noticeFindings(emit, config)), config);
  return withStallNotice(sampling, config.trainableTargets);
}

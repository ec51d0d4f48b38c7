import type { Cause } from './cause.js';
import { clippedAway } from './causes/clipped-away.js';
import { collapsed } from './causes/collapsed.js';
import { manyCutAnswers } from './causes/cut-answers.js';
import { gradientSpikes } from './causes/gradient-spikes.js';
import { hollowReward } from './causes/hollow-reward.js';
import { klDrift } from './causes/kl-drift.js';
import { lengthDrift } from './causes/length-drift.js';
import { lostPart } from './causes/lost-part.js';
import { lostVariety } from './causes/lost-variety.js';
import { neverSolved } from './causes/never-solved.js';
import { onePart } from './causes/one-part.js';
import { solved } from './causes/solved.js';
import { stoppedLearning } from './causes/stopped-learning.js';
import { failedEpisodes } from './causes/failed-episodes.js';
import { manySwallowedErrors } from './causes/swallowed-errors.js';
import { outages } from './causes/outages.js';
import { stragglers } from './causes/stragglers.js';
import { templateForks } from './causes/template-forks.js';
import { toolsNotCalled, toolsRefused } from './causes/tools.js';
import { formatNotMet } from './causes/format-not-met.js';
import { judgeUndecided, judgeUnstable } from './causes/judge.js';
import { temperatureTooHigh, temperatureTooLow } from './causes/temperature.js';
import { noSpread } from './causes/no-spread.js';
import { oneKindLearned } from './causes/one-kind.js';
import { tooFewTasks } from './causes/too-few-tasks.js';
import { samplerGap } from './causes/sampler-gap.js';
import { rateTooLow } from './causes/rate-too-low.js';
import { noGain } from './causes/no-gain.js';
import { swings } from './causes/swings.js';
import { zeroGradients } from './causes/zero-gradients.js';

/** All causes that `examine` looks for. */
export const causes: readonly Cause[] = [
  manyCutAnswers,
  collapsed,
  lostPart,
  lostVariety,
  neverSolved,
  solved,
  clippedAway,
  gradientSpikes,
  zeroGradients,
  klDrift,
  lengthDrift,
  hollowReward,
  onePart,
  stoppedLearning,
  failedEpisodes,
  manySwallowedErrors,
  outages,
  stragglers,
  templateForks,
  toolsNotCalled,
  toolsRefused,
  formatNotMet,
  judgeUndecided,
  judgeUnstable,
  temperatureTooHigh,
  temperatureTooLow,
  noSpread,
  oneKindLearned,
  tooFewTasks,
  samplerGap,
  rateTooLow,
  noGain,
  swings,
];

import type { Cause } from './cause.js';
import { clippedAway } from './causes/clipped-away.js';
import { collapsed } from './causes/collapsed.js';
import { cutAnswers } from './causes/cut-answers.js';
import { gradientSpikes } from './causes/gradient-spikes.js';
import { hollowReward } from './causes/hollow-reward.js';
import { klDrift } from './causes/kl-drift.js';
import { lengthDrift } from './causes/length-drift.js';
import { lostVariety } from './causes/lost-variety.js';
import { neverSolved } from './causes/never-solved.js';
import { onePart } from './causes/one-part.js';
import { solved } from './causes/solved.js';
import { stoppedLearning } from './causes/stopped-learning.js';
import { zeroGradients } from './causes/zero-gradients.js';

/** All causes that `examine` looks for. */
export const causes: readonly Cause[] = [
  cutAnswers,
  collapsed,
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
];

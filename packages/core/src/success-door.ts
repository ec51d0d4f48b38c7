export {
  chanceOfMixedGroup,
  formatChange,
  formatRate,
  pairedDifference,
  successInterval,
  successRate,
  wilsonInterval,
  type Interval,
  type RateDifference,
  type TaskScore,
} from './success-interval.js';
export { successByKind, toSuccessRecord, type KindScore, type KindSuccess } from './success-record.js';
export { kindOf } from './task-kind.js';

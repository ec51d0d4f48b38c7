export {
  chanceOfMixedGroup,
  formatChange,
  formatRate,
  pairedDifference,
  rateOf,
  successInterval,
  successRate,
  toRate,
  wilsonInterval,
  type Interval,
  type Rate,
  type RateDifference,
  type TaskScore,
} from './success-interval.js';
export { successByKind, toSuccessRecord, type KindScore, type KindSuccess } from './success-record.js';
export { kindOf } from './task-kind.js';

export {
  chanceOfMixedGroup,
  findLoss,
  formatChange,
  formatRate,
  pairedDifference,
  rateDifference,
  rateOf,
  successInterval,
  successRate,
  toRate,
  wilsonInterval,
  type Interval,
  type MeasuredRate,
  type Rate,
  type RateDifference,
  type SuccessLoss,
  type TaskScore,
} from './success-interval.js';
export { successByKind, toSuccessRecord, type KindScore, type KindSuccess } from './success-record.js';
export { kindOf } from './task-kind.js';

export {
  isPassed,
  isServerTool,
  namesInside,
  readTemplateWishes,
  reviewParameters,
} from './parameters/review-parameters.js';
export { formatParameters } from './parameters/format-parameters.js';
export { protocolNames, type Protocol, type Wish } from './parameters/wish.js';
export { wishes } from './parameters/wishes.js';
export { formatRetiredKeys } from './config/format-retired-keys.js';

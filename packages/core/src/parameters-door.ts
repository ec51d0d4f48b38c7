export {
  isPassed,
  isServerTool,
  namesInside,
  readTemplateWishes,
  reviewParameters,
  type ParameterReview,
} from './parameters/review-parameters.js';
export { formatParameters } from './parameters/format-parameters.js';
export { protocolNames, type Protocol, type Treatment, type Wish } from './parameters/wish.js';
export { wishes } from './parameters/wishes.js';

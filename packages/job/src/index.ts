export { evaluateModel } from './evaluate-model.js';
export { tune } from './tune.js';

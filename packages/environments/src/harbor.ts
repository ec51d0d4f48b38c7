export { openHarbor, type HarborOptions } from './harbor/harbor-environment.js';
export { readHarborTask, resolveVariables, type HarborTask } from './harbor/read-task.js';
export { createHarborReader, type HarborReaderOptions } from './harbor/reader.js';

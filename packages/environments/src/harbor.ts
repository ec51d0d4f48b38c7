export { openHarbor, type HarborOptions } from './harbor/harbor-environment.js';
export { readHarborTask, type HarborTask } from './harbor/read-task.js';
export { resolveVariables } from './harbor/variables.js';
export { createHarborReader, type HarborReaderOptions } from './harbor/reader.js';

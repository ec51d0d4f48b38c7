export { judgeStart } from './judge-start.js';
export { loadSftInputs } from './load-sft-inputs.js';
export { toSftInput } from './sft-config.js';
export { imitate } from './sft-job.js';

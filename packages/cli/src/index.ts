export { frameworks } from './init/plan-project.js';
export { createProgram } from './program.js';

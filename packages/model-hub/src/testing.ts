export { readFolder, startLoopbackHub, type LoopbackHub, type LoopbackModel } from './testing/loopback-hub.js';

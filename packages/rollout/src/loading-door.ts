/** Functions that read, run and guard the modules of users. */
export { failEpisodesThatExit } from './episode/exit-guard.js';
export { limitSessions } from './environment/limit-sessions.js';
export { createReader } from './readers/customized-protocol/create-reader.js';
export { importUserModule } from './user-module.js';
export { failureFrames, withUserFrames } from './user-frames.js';
export { copyPlain } from './episode/copy-plain.js';

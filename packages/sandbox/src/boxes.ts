export { openBox, type Box, type BoxNetwork, type BoxOptions } from './box/box.js';
export { prepareImage, type ImageSource } from './box/build-image.js';
export { boxEngines, callEngine, findBoxEngine, type BoxEngine, type BoxEngineName } from './box/engine.js';
export { NoLanguage, type ForwardedPort } from './box/forward-port.js';
export { type ExecOptions, type ExecResult } from './box/exec-in-box.js';
export { listBoxes, removeLeftBoxes } from './box/labels.js';
export { cleanArchive, listArchive, packFolder, readOnlyFile, TooLarge, type Leaves } from './box/tar.js';
export { findWorkingEngine } from './box/working-engine.js';

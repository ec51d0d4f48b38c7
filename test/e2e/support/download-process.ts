import { downloadModel, parseModelName } from '@agentjet/model-hub';

/** A process that downloads the model it is called with. Tests start two at once. */

const name = parseModelName(process.argv[2] ?? '');
if (name === undefined) throw new Error('Name a model.');
console.log((await downloadModel(name, { pauseMs: 1 })).dir);

/** This process saves one checkpoint after the other until it is killed: `tsx save-forever.ts <run folder>`. */
import { openRunFolder } from '@agentjet/run-folder';
import { createTinyTaskBackbone } from './tiny-task.js';

const run = await openRunFolder(process.argv[2] ?? '');
const backbone = createTinyTaskBackbone(1);
process.stdout.write('saving\n');
for (let step = 2; ; step++)
  await run.save(backbone, { step, policyVersion: step, groupsDrawn: step * 4 }, { maxCheckpoints: 2 });

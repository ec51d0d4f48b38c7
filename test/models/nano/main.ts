import { nanoModelDir } from '@agentjet/nano';
import { trainModel } from '../shared/train-model.js';
import { nano } from './nano.js';

await trainModel(nano, { modelDir: nanoModelDir, recipeDir: import.meta.dirname });

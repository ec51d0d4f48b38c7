import { microModelDir } from '@agentjet/micro';
import { trainModel } from '../shared/train-model.js';
import { micro } from './micro.js';

await trainModel(micro, { modelDir: microModelDir, recipeDir: import.meta.dirname });

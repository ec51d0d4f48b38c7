import type { Recipe } from '../shared/recipe.js';
import { courses } from './courses.js';
import { configJson, lessons, optimizer, recipe } from './nano-recipe.js';

/** The whole recipe of nano. */
export const nano: Recipe = {
  name: 'nano',
  ...recipe,
  configJson,
  courses,
  lessons,
  optimizer,
  card: {
    purpose: 'for the quick start and the tests of AgentJet.',
    teachers: `it walks
straight ahead, even against the edge, and only sometimes looks for the goal; it confuses an operation with its opposite; it betrays its
fellow werewolf.`,
  },
};

import type { Strategy, Way } from '../contract.js';
import { listedOptions } from '../requests.js';

/**
 * An agent in a world stays where it is if it repeats an action without effect, such as a step against a wall. Actions in
 * turn are left out, because two directions in turn can reach a goal.
 */
export const sameAction: Strategy = {
  name: 'the same action again and again',
  summary: 'answers each request with the same option of the prompt',
  role: 'unsolved',
  ways: [
    repeats('the first option', (options) => options[0]),
    repeats('the second option', (options) => options[1]),
    repeats('the third option', (options) => options[2]),
    repeats('the last option', (options) => options.at(-1)),
  ],
};

function repeats(name: string, choose: (options: readonly string[]) => string | undefined): Way {
  return {
    name,
    needs: ['options'],
    open: () => {
      let chosen: string | undefined;
      return (request) => {
        chosen ??= choose(listedOptions(request));
        return { text: chosen ?? '' };
      };
    },
  };
}

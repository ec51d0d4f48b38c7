import { toErrorMessage } from '@agentjet/core';
import { installNode, nodes } from '../../.ci/nodes.mjs';
import { runCommands, type NodeOutcome } from '../nodes/run-commands.js';
import type { NightlyOutcome } from './nightly-job.js';

/**
 * Runs `npm start` and `npm test` of the commit under each Node that we support. Under the newest Node, it also runs
 * them as an ordinary user in a folder with an unusual name.
 */
export async function run(keep: (soFar: NightlyOutcome) => void): Promise<NightlyOutcome> {
  try {
    for (const node of Object.values(nodes)) installNode(node);
  } catch (error) {
    const summary = `npm could not install the Nodes: ${toErrorMessage(error).split('\n')[0]}`;
    return { passed: false, isSkipped: true, summary, details: {} };
  }
  const found: Record<string, NodeOutcome> = {};
  const majors = Object.keys(nodes);
  // The newest Node comes first, because it breaks most often and a job that is ended early keeps its results so far.
  for (const [major, node] of Object.entries(nodes).reverse()) {
    found[major] = await runCommands(node, major === majors.at(-1));
    console.log(`Node ${node.version}: ${describe(found[major])}`);
    keep({ ...toOutcome(found), passed: false });
  }
  return toOutcome(found);
}

const describe = ({ passed, failed, warnings }: NodeOutcome): string =>
  `${passed} passed, ${failed} failed, ${warnings} warnings`;

function toOutcome(found: Readonly<Record<string, NodeOutcome>>): NightlyOutcome {
  const all = Object.entries(found);
  return {
    passed: all.every(([, { failed, warnings }]) => failed === 0 && warnings === 0),
    summary: all.map(([major, outcome]) => `Node ${major}: ${describe(outcome)}`).join('; '),
    details: { nodes: found },
  };
}

/**
 * A nightly job is one file in this folder, named as the job, that exports `run`. It runs in a separate process for at
 * most 90 minutes. Its return value is kept in `results/<job>.json`, with date, commit and machine.
 */
export type NightlyOutcome = {
  readonly passed: boolean;
  /**
   * Whether the job cannot run on this machine. The summary then says why. This does not count as a failure, and the
   * earlier result stays.
   */
  readonly isSkipped?: boolean;
  /** One line for the person who reads the log: the counts, or why the job could not run. */
  readonly summary: string;
  /** The result that is kept. */
  readonly details: { readonly [key: string]: unknown };
};

/** `keep` writes the result so far. If a job is killed at its limit, this result remains. */
export type NightlyJob = { readonly run: (keep: (soFar: NightlyOutcome) => void) => Promise<NightlyOutcome> };

/** The jobs, existing and planned, with the question of each. */
export const jobs = {
  soak: 'Does a long run keep its memory, its files and its pace?',
  'swarm-soak': 'Does the server of a swarm keep its memory, its handles and its pace?',
  'swarm-proof': 'Do the demo of the swarm, real kills and planted mistakes end as they should?',
  chaos: 'Does a run survive kills, full disks and broken files?',
  simulate: 'Does the swarm lose nothing under any order of failures?',
  releases: 'Does each tutorial learn as well and as fast as in the last releases?',
  'reasoning-gym': 'Does the math agent learn families of problems from a Python process?',
  engines: 'Do the GPU worker and its backbone agree with the embedded one?',
  golden: 'Does training give the figures, episodes and weights that are kept, also if it is killed?',
  verl: 'Does verl, in one process on the CPU, train as our other backbones, and survive what Ray does?',
  skyrl: 'Does the tinker backbone train through a server of others, SkyRL on the CPU?',
  nodes: 'Do `npm start` and `npm test` pass on every Node that we promise, without a warning?',
  publish: 'Can all packages be published, installed and run?',
  clients: 'Do clients in Python get along with the endpoint?',
  trackers: 'Do TensorBoard, wandb and swanlab take what a run sends them?',
  gguf: 'Are GGUF files read as the reference reads them, and does llama.cpp answer with our exports as we do?',
  real: 'Does a real language model learn in the tutorials with SmolLM2, one seed of each?',
  bfcl: 'Does SmolLM2 learn to choose the right function on the data of BFCL?',
  frameworks: 'Which agent frameworks in TypeScript and in Python work, and is exactly what they sampled trained?',
  harbor: 'Are tasks of Harbor paid as Harbor pays them, and neither attacks, faults nor kills change that?',
  kubernetes: 'Are tasks of Harbor paid right in pods of a real API server, while its calls and its pods fail?',
  doors: 'Do our packages work with the compilers, package managers, bundlers and test runners that people use?',
  programs: 'Do Claude Code, Codex and OpenCode run episodes of a swarm, as programs and over ACP?',
} as const;

export type JobName = keyof typeof jobs;

export const isJobName = (name: string): name is JobName => name in jobs;

import type { Rate, RateDifference, SuccessLoss } from '@agentjet/core/success';
import type { Finding, Unseen } from '@agentjet/diagnose';
import type { OutcomeInWords, MetricsRecord } from '@agentjet/run-folder';

/** The JSON that the server sends and the page reads. Everything in it comes from the files of a run. */

/**
 * `running`: a process writes it. `finished`: it did all its steps. `failed`: it ended with an error. `stopped`: it ended
 * before its last step. `unreadable`: its files cannot be read.
 */
export type RunState = 'running' | 'finished' | 'failed' | 'stopped' | 'unreadable';

export type EvaluationPoint = Rate & {
  readonly step: number;
  readonly episodes: number;
  readonly reward: number;
};

export type RunSummary = {
  readonly id: string;
  /** The folder, relative to the one that the studio shows. */
  readonly path: string;
  readonly experiment: string;
  readonly name: string;
  readonly state: RunState;
  /** Why the run failed or cannot be read. */
  readonly problem?: string;
  readonly model: string;
  readonly backbone: string;
  readonly step: number;
  readonly totalSteps: number | null;
  /** Mean reward of the last steps, and the number of these steps. */
  readonly reward: number | null;
  readonly rewardSteps: number;
  readonly before: EvaluationPoint | null;
  readonly after: EvaluationPoint | null;
  readonly change: RateDifference | null;
  /** Seconds of all steps and evaluations. */
  readonly seconds: number;
  readonly beganAt: string | null;
  /** Milliseconds since 1970 of the last write. */
  readonly updatedMs: number;
  /** Reward by step, at most 60 values. */
  readonly spark: readonly number[];
};

export type RunList = {
  readonly folder: string;
  readonly version: string;
  readonly runs: readonly RunSummary[];
  /** Absent in an exported file. */
  readonly offers?: StudioOffers;
};

/** How a task did in one evaluation. */
export type TaskTrials = {
  readonly successes: number;
  readonly trials: number;
  /** An episode of the task, one that failed if there is one, and its place. */
  readonly episode: string;
  readonly ref: string;
};

export type TaskChange = {
  readonly task: string;
  readonly kind: string;
  readonly before: TaskTrials | null;
  readonly after: TaskTrials | null;
};

export type KindChange = {
  readonly kind: string;
  readonly before: Rate | null;
  readonly after: Rate | null;
  readonly tasks: number;
};

/** What keeps a run from learning, and how many causes could not be looked for. */
export type RunFindings = { readonly findings: readonly Finding[]; readonly unseen: readonly Unseen[] };

export type RunOverview = {
  readonly run: RunSummary;
  readonly evaluations: readonly EvaluationPoint[];
  /** What the run lost since its best evaluation, if it is more than chance. */
  readonly loss: SuccessLoss<EvaluationPoint> | null;
  readonly tasks: readonly TaskChange[];
  readonly kinds: readonly KindChange[];
  /** The settings by their path, such as `rollout.num_repeat`. */
  readonly settings: Readonly<Record<string, string>>;
  /** Changes of settings when the run was resumed. */
  readonly events: readonly { readonly time: string; readonly text: string }[];
};

export type MetricsChunk = {
  /** To be sent with the next request, which returns only later lines. */
  readonly cursor: string;
  /** The run was rewound: what was read before is not valid any more. */
  readonly isReset: boolean;
  readonly steps: readonly MetricsRecord[];
  readonly evaluations: readonly MetricsRecord[];
};

/** Strings that repeat: `names[at[row]]`. */
export type NamedColumn = { readonly names: readonly string[]; readonly at: readonly number[] };

/** Rows of the index of episodes, as columns. A number that is missing is null. */
export type EpisodesChunk = {
  readonly cursor: string;
  readonly isReset: boolean;
  readonly length: number;
  readonly id: readonly string[];
  readonly offset: readonly number[];
  readonly step: readonly number[];
  /** 1 for an evaluation, 0 for training. */
  readonly evaluation: readonly number[];
  readonly reward: readonly (number | null)[];
  /** 1 if the episode succeeded. */
  readonly success: readonly number[];
  /** 1 if the result says something about the model. */
  readonly scored: readonly number[];
  readonly repeat: readonly number[];
  readonly tokens: readonly number[];
  readonly trained: readonly number[];
  readonly seconds: readonly number[];
  readonly calls: readonly number[];
  readonly cut: readonly number[];
  /** Tool calls that could not be used, and results of tools that report an error. */
  readonly refused: readonly number[];
  readonly toolErrors: readonly number[];
  readonly task: NamedColumn;
  readonly group: NamedColumn;
  readonly kind: NamedColumn;
  /** Error code of a failed episode, or empty. */
  readonly error: NamedColumn;
  /** Causes of forks, joined by a blank. */
  readonly forks: NamedColumn;
  readonly agents: NamedColumn;
};

/** Outcomes by `<step>.<offset>`. */
export type Outcomes = Readonly<Record<string, OutcomeInWords>>;

export type SearchResult = { readonly refs: readonly string[]; readonly isCut: boolean };

/** Tokens in a row by one author. */
export type TokenRun = {
  readonly author: string;
  readonly name?: string;
  /** The calls that sampled it. */
  readonly turns: readonly number[];
  /** Position of the first token in its rows. */
  readonly start: number;
  readonly ids: readonly number[];
  readonly texts: readonly string[];
  readonly logprobs?: readonly number[];
  /** One number if all tokens have the same. */
  readonly advantages?: number | readonly number[];
  /** The trainer's logprob minus the sampler's, if the run recorded it. */
  readonly gaps?: readonly number[];
};

/** Tokens between two forks. */
export type TreeBranch = {
  readonly parent: number | null;
  readonly depth: number;
  readonly start: number;
  readonly end: number;
  readonly rows: readonly number[];
  /** Calls that begin here and did not continue what was known, with the cause. */
  readonly forks: readonly {
    readonly turn: number;
    readonly agent: string;
    readonly cause: string;
    readonly reason: string;
  }[];
  readonly runs: readonly TokenRun[];
};

export type Said = {
  readonly author: string;
  readonly agent: string;
  readonly name?: string;
  readonly text: string;
  /** The call that sampled it. */
  readonly turn?: number;
  readonly isCut?: boolean;
  /** An earlier message that the call sent again. */
  readonly isRepeated?: boolean;
  /** Why the call did not continue the known history. */
  readonly fork?: { readonly cause: string; readonly reason: string };
  readonly tokens: number;
  readonly meanLogprob?: number;
  readonly advantage?: number;
};

export type TimeBar = {
  readonly lane: string;
  readonly label: string;
  readonly kind: 'call' | 'untrained' | 'span' | 'judge' | 'episode';
  readonly beganMs: number;
  readonly endedMs: number;
};

export type EpisodeView = {
  readonly id: string;
  readonly step: number;
  readonly phase: string;
  readonly group: string;
  readonly task: string;
  readonly repeat: number;
  readonly status: string;
  readonly reward: number | null;
  readonly isSuccess: boolean;
  readonly parts: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly outcome: OutcomeInWords;
  readonly facts: readonly (readonly [label: string, value: string])[];
  /** The columns of the table of model calls. */
  readonly calls: readonly { readonly title: string; readonly values: readonly string[] }[];
  readonly said: readonly Said[];
  readonly times: readonly TimeBar[];
  readonly branches: readonly TreeBranch[];
  readonly treeTokens: number;
  readonly rowTokens: number;
  readonly hasText: boolean;
  /** Other episodes of the same group, and of the same task in evaluations. */
  readonly siblings: readonly { readonly id: string; readonly reward: number | null; readonly isSuccess: boolean }[];
};

export type GroupEpisode = {
  readonly id: string;
  readonly repeat: number;
  readonly reward: number | null;
  readonly isSuccess: boolean;
  readonly status: string;
  readonly tokens: number;
  readonly trained: number;
  readonly advantage: number | null;
  readonly parts: Readonly<Record<string, number>>;
  readonly outcome: OutcomeInWords;
};

export type GroupBranch = {
  readonly parent: number | null;
  readonly depth: number;
  readonly start: number;
  readonly end: number;
  /** The episodes whose tokens contain this branch, as positions in `episodes` of the group. */
  readonly episodes: readonly number[];
  readonly text: string;
  readonly author: string;
  /** The mean advantage of the trained tokens, counted once for each row that contains them. */
  readonly advantage: number | null;
};

export type GroupView = {
  readonly group: string;
  readonly step: number;
  readonly task: string;
  readonly phase: string;
  readonly question: string;
  readonly expected: string;
  readonly episodes: readonly GroupEpisode[];
  readonly branches: readonly GroupBranch[];
  readonly rowTokens: number;
  readonly treeTokens: number;
};

/** One task in each evaluation. */
export type TaskView = {
  readonly task: string;
  readonly episodes: readonly {
    readonly id: string;
    readonly step: number;
    readonly repeat: number;
    readonly reward: number | null;
    readonly isSuccess: boolean;
    readonly outcome: OutcomeInWords;
  }[];
};

/** What the process of a run used when it recorded a step. */
export type SystemPoint = {
  readonly step: number;
  readonly rssMb: number;
  readonly peakRssMb: number;
  readonly diskFreeMb: number | null;
  /** Seconds since the step before. Null if the run was resumed in between. */
  readonly wallSeconds: number | null;
  /** CPU seconds for each second since the step before. */
  readonly cores: number | null;
};

export type DiskPart = { readonly name: string; readonly bytes: number };

/** `points` is empty for runs without system.jsonl. */
export type RunSystem = { readonly points: readonly SystemPoint[]; readonly disk: readonly DiskPart[] };

/** How episodes spent their time, in seconds. */
export type EpisodeTimes = {
  readonly episodes: number;
  /** The number of episodes that recorded the times of their model calls. */
  readonly timed: number;
  readonly seconds: number;
  readonly parts: {
    /** Model calls that waited for a free place in the engine. */
    readonly waiting: number;
    readonly prompt: number;
    readonly sampling: number;
    /** The remaining time of model calls. */
    readonly answering: number;
    /** Calls to models that are not trained. */
    readonly untrained: number;
    /** Tools and environments. */
    readonly spans: number;
    readonly judging: number;
    /** The agent itself. */
    readonly rest: number;
  };
};

type Counts = Readonly<Record<string, number>>;

export type SwarmShareView = {
  readonly name: string;
  readonly part: number | null;
  readonly asked: number | null;
  readonly got: number | null;
  readonly tasks: number | null;
  readonly inFlight: number | null;
  readonly trained: number | null;
  readonly isIdle: boolean;
};

/** The newest episodes of a client by their states. */
export type SwarmClientView = { readonly name: string; readonly states: Counts };

export type SwarmPolicyView = {
  readonly name: string;
  readonly state: string;
  readonly step: number | null;
  readonly pooled: number | null;
  readonly waitSeconds: number | null;
  readonly problem?: string;
};

/** The present state of a swarm server. If the server does not answer, the view has only its address and a problem. */
export type SwarmView =
  | { readonly url: string; readonly problem: string }
  | {
      readonly url: string;
      readonly problem?: undefined;
      /** Why training has stopped. */
      readonly training?: string;
      readonly facts: readonly (readonly [name: string, value: string | number])[];
      readonly account: Counts;
      readonly dropped: Counts;
      readonly shares: readonly SwarmShareView[];
      readonly policies: readonly SwarmPolicyView[];
      readonly clients: readonly SwarmClientView[];
      readonly episodesProblem?: string;
      readonly waits: readonly string[];
    };

/** A model that the page can speak to. */
export type TalkModel = {
  readonly name: string;
  readonly url: string;
  readonly model?: string;
  readonly problem?: string;
};

export type TalkMessage = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string };

export type ChatQuestion = {
  /** The index of the model in the list of models. */
  readonly chat: number;
  readonly model: string;
  readonly messages: readonly TalkMessage[];
  readonly temperature: number;
};

/** What the studio's server offers in addition to runs. */
export type StudioOffers = { readonly swarm: boolean; readonly chats: number };

/** Sent when a local tool asks the open pages to show a view. */
export type ViewEvent = { readonly address: string };

/** Sent when files change: the page asks for what was added. */
export type ChangeEvent = { readonly run: string; readonly what: readonly ('metrics' | 'episodes' | 'state')[] };

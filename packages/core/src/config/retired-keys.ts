const oversampling =
  'Use "rollout.refill_groups", which draws other tasks in place of groups without a gradient. For a swarm, use "swarm.sample_collection: enough_informative_tasks".';
const deduplication =
  'Use "task_reader.data_generation.similarity" for questions with the same words, and "task_reader.data_generation.embeddings" for questions with the same meaning.';

/**
 * Keys of the Python AgentJet that this configuration does not have, with what to do instead. A key is written with its section; an
 * entry for a section covers everything below it.
 */
export const adviceByKey: Readonly<Record<string, string>> = {
  'rollout.n_vllm_engine': 'Use "rollout.num_replicas", with "rollout.name: vllm".',
  'rollout.gamma': 'Use "trainer_common.algorithm.gamma".',
  'rollout.multi_turn.max_sample_per_task': 'Remove it. No sample of an episode is left out.',
  'rollout.multi_turn.expected_steps': 'Use "data.train_batch_size", which counts tasks.',
  'rollout.force_disable_toolcalls': 'Give the agent no tools instead.',
  'rollout.compute_madness_checklist': 'A reward is never overwritten. Judge odd output in the workflow or in a judge.',
  'rollout.agent_madness_termination': 'A reward is never overwritten. Judge odd output in the workflow or in a judge.',
  'rollout.agent_madness_reward': 'A reward is never overwritten. Judge odd output in the workflow or in a judge.',
  'rollout.enable_oversample': oversampling,
  'rollout.submit_oversample_multiplier': oversampling,
  'rollout.val_kwargs.num_repeat': 'Use "trainer_common.val_pass_n".',
  'rollout.val_kwargs.do_sample':
    'Set "rollout.val_kwargs.temperature": 0 takes the likeliest token, a higher value samples.',
  'rollout.max_num_turns': 'Use "rollout.multi_turn.max_steps".',
  'context_tracker.timeline_merging_policy':
    'Timelines are always merged exactly, by token ids. "context_tracker.history_policy" decides what happens to rewritten history.',
  'context_tracker.fix_retokenization_drift':
    'Remove it. Drift cannot arise, because turns that the model wrote keep their own ids.',
  'context_tracker.detect_timeline_snap':
    'Remove it. Forks are always counted by cause: see metrics.jsonl and `ajet inspect`.',
  'context_tracker.log_tool_format_check': 'Remove it. Malformed tool calls are always counted: see metrics.jsonl.',
  'task_reader.huggingface_dat_repo.http_proxy_address': 'Set the environment variable HTTPS_PROXY.',
  'task_reader.data_generation.llm_model': 'Use "task_reader.data_generation.model.name".',
  'task_reader.data_generation.llm_response_length': 'Use "task_reader.data_generation.model.max_tokens".',
  'task_reader.data_generation.num_workers': 'Use "task_reader.data_generation.model.max_concurrent".',
  'task_reader.data_generation.sampling_params': 'Use "task_reader.data_generation.model.temperature".',
  'task_reader.data_generation.deduplication': deduplication,
  'task_reader.data_generation.deduplication_filter': deduplication,
  'task_reader.feedback_tracing.base_url': 'Name the files of the traces in "task_reader.feedback_tracing.sources".',
  'task_reader.feedback_tracing.train_output_path':
    'Remove it. The tasks are kept in the folder traces, next to the runs.',
  'task_reader.feedback_tracing.alien_llm_model': 'Use "task_reader.feedback_tracing.filters.model.name".',
  'task_judge.alien_llm_model': 'Use "task_judge.llm.model", with "task_judge.judge_type: llm".',
  'task_judge.alien_llm_response_length': 'Use "task_judge.llm.max_tokens".',
  'task_judge.rubrics_auto_grader': 'Use "task_judge.judge_type: rubrics" and the section "task_judge.rubrics".',
  task_runner:
    'Remove it. Episodes run concurrently in this process. "rollout.workflow_processes" runs their workflows in other processes.',
  interchange_server: 'Remove it. A run serves its models on a free port for agents that need an address.',
  'trainer_common.val_only': 'Use the command `ajet eval`.',
  'trainer_common.nnodes':
    'Training runs on one machine: use 1, and "trainer_common.n_gpus_per_node" for its GPUs. For several machines, use "torch.launch=attach" and "torch.num_nodes", or "verl.num_nodes".',
  'trainer_common.ppo_max_token_len_per_gpu': 'Use "trainer_common.max_pack_tokens".',
  'trainer_common.checkpoint_base_dir': 'Use "experiment_dir". Checkpoints are in the run folder.',
  'trainer_common.save_trajectory_as_json_file':
    'Remove it. Every episode is written, token by token, to the folder episodes/ of the run.',
  'trainer_common.loss_weight_normalization_episode_level':
    'Use "trainer_common.loss_weighting: episode", the default.',
  'trainer_common.advantage_estimation_episode_level': 'Remove it. Advantages always compare episodes, not fragments.',
  'trainer_common.fsdp_config':
    'Use "torch.cpu_offload", which moves weights and optimizer states together: give param_offload and optimizer_offload the same value, and set nothing else.',
  'trainer_common.clip_ratio': 'Use "trainer_common.clip_ratio_low" and "trainer_common.clip_ratio_high".',
  'trainer_common.optim.clip_grad': 'Use "trainer_common.optim.grad_clip".',
  'trainer_common.optim.warmup_style': 'Use "trainer_common.optim.lr_scheduler_type".',
  'debug.debug_vllm_port': 'Use "debug.base_url", which includes the port.',
  'debug.debug_vllm_seed': 'Use "debug.seed".',
  'debug.debug_tensor_parallel_size':
    'Remove it, because debugging starts no server. "debug.base_url" uses one that already runs.',
  'task_reader.data_generation.document_reader.languages': 'Remove it. Texts in any language are read as they are.',
  'task_reader.data_generation.document_reader.split_by': 'Remove it. A passage always ends with a whole sentence.',
  'task_reader.data_generation.document_reader.cache_enabled':
    'Remove it. The generated tasks are kept next to the runs.',
  'task_reader.data_generation.query_reader.type':
    'Use "task_reader.data_generation.query_reader.file_path". The end of its name says the format.',
  'task_reader.data_generation.query_reader.jsonl_dataset_file':
    'Use "task_reader.data_generation.query_reader.file_path".',
  'context_tracker.log_tool_format_error_detail': 'Remove it. `ajet inspect` shows malformed tool calls.',
  'context_tracker.alien_llm_model': 'Use "task_judge.llm.model", with "task_judge.judge_type: llm".',
  'context_tracker.alien_llm_response_length': 'Use "task_judge.llm.max_tokens".',
  'trainer_common.val_max_num_task_each_validation': 'Give the evaluation fewer tasks, in its own file or split.',
  'trainer_common.val_max_num_task_clip_method': 'Give the evaluation fewer tasks, in its own file or split.',
  'trainer_common.val_print_to_markdown_file_path': 'Remove it. `ajet inspect` shows every recorded episode.',
  'trainer_common.train_print_to_markdown_file_path': 'Remove it. `ajet inspect` shows every recorded episode.',
  'trainer_common.optim.optimizer': 'Remove it. The optimizer is AdamW.',
  'trainer_common.optim.optimizer_impl': 'Remove it. The optimizer is AdamW.',
  'trainer_common.optim.total_training_steps': 'Use "trainer_common.total_training_steps".',
  'trainer_common.optim.num_cycles': 'Remove it. A cosine schedule falls once.',
  'trainer_common.optim.zero_indexed_step': 'Remove it. The first step has the first rate of the schedule.',
  'trainer_common.loss_extra_scale_ratio':
    'Use "trainer_common.optim.lr". AdamW divides by the size of the gradient, so a factor of the loss changes little.',
  'trainer_common.ulysses_sequence_parallel_size':
    'There is no sequence parallelism. "trainer_common.max_pack_tokens" limits the tokens of one pass.',
  'lora.lora_rank': 'Use "lora.rank".',
  'lora.lora_alpha': 'Use "lora.alpha".',
  'lora.load_format': 'Remove it. The backbone decides how its sampler gets the weights.',
  'lora.layered_summon': 'Remove it. The backbone decides how its sampler gets the weights.',
  enable_swarm_mode: 'Start a server with `ajet swarm serve`.',
  enable_interchange_server: 'Remove it. A run serves its models on a free port for agents that need an address.',
  swarm_mode_sample_collection_max_cached_episodes: 'Remove it. Episodes are not cached beyond their batch.',
  execute_test: 'Remove it.',
  execute_testing_lambda: 'Remove it.',
  max_staleness: 'Use "trainer_common.max_staleness".',
  'rollout.max_staleness': 'Use "trainer_common.max_staleness".',
  swarm_mode: 'Start a server with `ajet swarm serve`.',
  swarm_mode_sample_collection_method: 'Use "swarm.sample_collection".',
  max_cached_episodes: 'Remove it. Episodes are not cached beyond their batch.',
};

const trinity =
  'Trinity draws its own tasks and decides when weights are updated, so it cannot be the backbone of this training loop. Use "torch", or "tinker" or "verl" for a cluster. To train while episodes run, set trainer_common.max_staleness to 1 or 2.';

const critic =
  'It trains a critic, which AgentJet does not have. Use "grpo", or "reinforce" with "trainer_common.algorithm.reinforce_baseline".';
const estimator = 'trainer_common.algorithm.adv_estimator=';

export const adviceByValue: Readonly<Record<string, string>> = {
  'task_reader.type=hf': 'Use "huggingface_dat_repo".',
  'trainer_common.optim.lr_scheduler_type=wsd': 'Use "warmup_stable_decay".',
  'backbone=trinity': trinity,
  'backbone=trinity_rft': trinity,
  'backbone=trl':
    'TRL has its own training loop, which computes the advantages, so it cannot be the backbone of this one. Use "torch", or "tinker" or "verl" for a cluster.',
  'task_reader.type=tracing': 'Use "feedback_tracing".',
  'task_judge.judge_type=rubrics_auto_grader': 'Use "rubrics", whose settings are in "task_judge.rubrics".',
  // Estimators of other trainers.
  [`${estimator}reinforce++`]: 'Use "reinforce_plus_plus".',
  [`${estimator}reinforce_plus_plus_baseline`]:
    'Use "reinforce" with "trainer_common.algorithm.whiten_advantages": true, which subtracts the mean of the group first.',
  [`${estimator}gae`]: critic,
  [`${estimator}ppo`]: critic,
  [`${estimator}drgrpo`]: 'Use "dr_grpo".',
  [`${estimator}grpo_done_right`]: 'Use "dr_grpo".',
  [`${estimator}rloo_vectorized`]: 'Use "rloo".',
  [`${estimator}grpo_vectorized`]: 'Use "grpo".',
  [`${estimator}group_norm`]: 'Use "grpo".',
  [`${estimator}remax`]:
    'A greedy answer as the baseline is not available. Use "rloo", whose baseline is the mean of the other episodes.',
};

/** The settings of verl, TRL, OpenRLHF, SkyRL and prime-rl, by the last part of their keys. */
export const adviceByFieldName: Readonly<Record<string, string>> = {
  n: use('rollout.num_repeat'),
  num_generations: use('rollout.num_repeat'),
  n_samples_per_prompt: use('rollout.num_repeat'),
  n_samples_per_eval_prompt: use('trainer_common.val_pass_n'),
  rollouts_per_example: use('rollout.num_repeat'),
  group_size: use('rollout.num_repeat'),
  rollout_batch_size: use('data.train_batch_size'),
  groups_per_batch: use('data.train_batch_size'),
  per_device_train_batch_size: use('data.train_batch_size', 'It counts tasks, not episodes.'),
  ppo_mini_batch_size: use('trainer_common.mini_batch_num', 'It is the number of parts, not their size.'),
  num_iterations: use('trainer_common.ppo_epochs'),
  learning_rate: use('trainer_common.optim.lr'),
  max_grad_norm: use('trainer_common.optim.grad_clip'),
  warmup_ratio: use('trainer_common.optim.lr_warmup_steps_ratio'),
  warmup_steps: use('trainer_common.optim.lr_warmup_steps'),
  lr_warmup_steps_ratio: use('trainer_common.optim.lr_warmup_steps_ratio'),
  lr_decay_style: use('trainer_common.optim.lr_scheduler_type'),
  min_lr: use('trainer_common.optim.min_lr_ratio', 'It is a share of the rate.'),
  num_decay_steps: use('trainer_common.optim.lr_wsd_decay_steps'),
  beta: use(
    'trainer_common.kl_loss_coef',
    'It needs "trainer_common.use_kl_loss": true. For distillation use "trainer_common.algorithm.distill.beta".',
  ),
  kl_coef: use('trainer_common.kl_loss_coef', 'It needs "trainer_common.use_kl_loss": true.'),
  kl_beta: use('trainer_common.kl_loss_coef', 'It needs "trainer_common.use_kl_loss": true.'),
  epsilon: use('trainer_common.clip_ratio_low'),
  epsilon_high: use('trainer_common.clip_ratio_high'),
  eps_clip: use('trainer_common.clip_ratio_low'),
  eps_clip_high: use('trainer_common.clip_ratio_high'),
  scale_rewards: use('trainer_common.algorithm.norm_adv_by_std_in_grpo'),
  loss_type: use(
    'trainer_common.loss_mode',
    'A preset of "trainer_common.algorithm.adv_estimator" sets it together with the other keys that belong to it.',
  ),
  policy_loss_type: use('trainer_common.loss_mode'),
  importance_sampling_level: use('trainer_common.loss_mode', '"gspo" has the ratio of whole sequences.'),
  max_completion_length: use('rollout.max_response_length_in_one_turn'),
  generate_max_len: use('rollout.max_response_length_in_one_turn'),
  max_seq_len: use('rollout.max_model_len'),
  mask_truncated_completions: use('trainer_common.mask_truncated_completions'),
  overlong_filter: use('trainer_common.mask_truncated_completions'),
  overlong_filtering: use('trainer_common.mask_truncated_completions'),
  overlong_buffer: use('trainer_common.overlong_buffer'),
  overlong_buffer_len: use('trainer_common.overlong_buffer.len'),
  overlong_penalty_factor: use('trainer_common.overlong_buffer.penalty_factor'),
  soft_overlong_punishment: use('trainer_common.overlong_buffer'),
  use_kl_in_reward: use('trainer_common.algorithm.use_kl_in_reward'),
  filter_overlong_prompts: use(
    'data.overlong_sample_policy',
    'No prompt is left out before the run; "drop_episode" leaves its episodes out.',
  ),
  filter_groups: use('rollout.refill_groups'),
  dynamic_sampling: use('rollout.refill_groups'),
  num_train_epochs: use('trainer_common.total_epochs'),
  save_steps: use('trainer_common.save_freq'),
  eval_steps: use('trainer_common.test_freq'),
  report_to: use('trainer_common.logger'),
  advantage_estimator: use('trainer_common.algorithm.adv_estimator'),
};

function use(key: string, remark = ''): string {
  return `Use "${key}".${remark === '' ? '' : ` ${remark}`}`;
}

/** Returns what to use instead of a value of the original. Case and `-` or `_` do not matter. */
export function findValueAdvice(key: string, value: unknown): string | undefined {
  const name = `${key}=${typeof value === 'string' ? value.toLowerCase().replaceAll('-', '_') : ''}`;
  return Object.hasOwn(adviceByValue, name) ? adviceByValue[name] : undefined;
}

/** Returns what to use instead of `key`, or undefined if the original does not have it either. */
export function findAdvice(key: string): string | undefined {
  const parts = key.split('.');
  const prefixes = parts.map((_, index) => parts.slice(0, index + 1).join('.'));
  const found = prefixes.find((prefix) => Object.hasOwn(adviceByKey, prefix));
  return found === undefined ? undefined : adviceByKey[found];
}

/** Returns advice for a key that other trainers have, by its last part, or undefined if none of them has it. */
export function findFieldAdvice(key: string): string | undefined {
  const name = key.slice(key.lastIndexOf('.') + 1);
  return Object.hasOwn(adviceByFieldName, name) ? adviceByFieldName[name] : undefined;
}

/** The file in a run folder that holds collected conversations, one per line. */
export const transcriptsFile = 'transcripts.jsonl';

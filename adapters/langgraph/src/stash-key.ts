/** Where the turn travels as the model wrote it: one entry of `additional_kwargs`, or of `response_metadata` after `streamEvents` v3. */
export const stashKey = 'agentjet';

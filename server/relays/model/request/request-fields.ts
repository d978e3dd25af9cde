// The parts of the two APIs that take a request body.
export type ModelApi = "chat" | "completions" | "responses" | "embeddings" | "messages";

// Fields that only influence the model's answer and have no effect outside the request. Fields with a rule are in
// request-rules.ts. Some fields are additions of other providers to one of the two APIs.
export const inertFields = (api: ModelApi): string[] => INERT[api].split(/\s+/).filter((field) => field !== "");

const SAMPLING = `temperature top_p top_k top_a min_p typical_p seed stop logit_bias logprobs top_logprobs frequency_penalty
  presence_penalty repetition_penalty max_tokens min_tokens n best_of echo suffix ignore_eos stop_token_ids skip_special_tokens
  guided_json guided_regex guided_choice guided_grammar structured_outputs user metadata service_tier priority cache_prompt
  keep_alive num_ctx options`;

const THINKING = `reasoning reasoning_effort reasoning_format reasoning_split include_reasoning thinking thinking_budget
  enable_thinking preserve_thinking think chat_template_kwargs chat_template_args`;

const INERT: Record<ModelApi, string> = {
  chat: `${SAMPLING} ${THINKING} audio function_call functions max_completion_tokens modalities parallel_tool_calls prediction
    prompt_cache_key prompt_cache_retention response_format safety_identifier tool_choice verbosity usage cache_control tool_stream`,
  completions: `${SAMPLING} prompt response_format`,
  responses: `${SAMPLING} ${THINKING} client_metadata context_management include instructions max_output_tokens max_tool_calls
    parallel_tool_calls prompt_cache_key prompt_cache_retention safety_identifier stream_options text tool_choice truncation verbosity`,
  embeddings: "input dimensions encoding_format user input_type truncate priority",
  messages: `max_tokens metadata stop_sequences temperature top_k top_p tool_choice thinking service_tier cache_control
    context_management output_config output_format inference_geo speed`,
};

#!/usr/bin/env python3
"""Writes transformers_logits.json: what small models of made-up numbers compute in transformers, in double precision.

    transformers_logits.py OUT.json [CASE...]

Each model is written to a folder (made_up.py) and loaded from there. What transformers computes in float32 whatever the
weights are (norms, rotary positions, softmax) is computed in double here. The vector has some of the logits, of an
encoder some of the last hidden states, of 64 tokens; the largest; the sum of all sizes; and some of what the heads of
layer 1 give, before the output projection.
"""
import collections
import copy
import json
import re
import sys
import tempfile

import torch
import transformers
from torch.overrides import TorchFunctionMode

from made_up import tokens, write_model
from transformers_tensors import collapsed, reason, saved

SIZES = {  # of each config, those of its keys that it has
    'vocab_size': 48, 'pad_token_id': 0, 'bos_token_id': 1, 'eos_token_id': 2,
    'hidden_size': 32, 'n_embd': 32, 'd_model': 32, 'dim': 32, 'embedding_size': 16, 'word_embed_proj_dim': 32,
    'num_hidden_layers': 3, 'n_layer': 3, 'n_layers': 3, 'num_layers': 3, 'num_hidden_groups': 1,
    'num_attention_heads': 4, 'n_head': 4, 'n_heads': 4, 'num_heads': 4, 'num_key_value_heads': 2, 'head_dim': 12,
    'intermediate_size': 40, 'ffn_dim': 40, 'hidden_dim': 40, 'd_ff': 40, 'd_kv': 8, 'n_inner': 40,
    'max_position_embeddings': 128, 'n_positions': 128, 'max_seq_len': 128, 'type_vocab_size': 2,
    'num_experts': 6, 'num_local_experts': 6, 'num_experts_per_tok': 2, 'moe_intermediate_size': 24,
    'shared_expert_intermediate_size': 20, 'n_routed_experts': 6, 'n_shared_experts': 1, 'moe_num_experts': 6, 'moe_k': 2,
    'first_k_dense_replace': 1, 'q_lora_rank': 12, 'kv_lora_rank': 16, 'qk_nope_head_dim': 8, 'qk_rope_head_dim': 4,
    'qk_head_dim': 12, 'v_head_dim': 6,
}
LLAMA3 = {'rope_type': 'llama3', 'rope_theta': 10000., 'factor': 4., 'low_freq_factor': 1., 'high_freq_factor': 4.,
          'original_max_position_embeddings': 32}
YARN = {'rope_type': 'yarn', 'rope_theta': 10000., 'factor': 4., 'original_max_position_embeddings': 32}
LATENT = {'head_dim': 4, 'num_key_value_heads': 4}
LONGROPE = {'rope_type': 'longrope', 'rope_theta': 10000., 'short_factor': [1., 1.25, 1.5, 2.],
            'long_factor': [1., 2., 4., 8.]}
DELTA = {'num_hidden_layers': 2, 'layer_types': ['linear_attention', 'full_attention'], 'linear_num_key_heads': 2,
         'linear_num_value_heads': 4, 'linear_key_head_dim': 8, 'linear_value_head_dim': 12, 'head_dim': 16}
TOWER = {'num_hidden_layers': 1, 'depth': 1, 'image_size': 28, 'patch_size': 14, 'embed_dim': 32, 'num_heads': 4,
         'num_attention_heads': 4, 'out_hidden_size': 32, 'num_position_embeddings': 4, 'fullatt_block_indexes': [0],
         'deepstack_visual_indexes': [0]}
# name: its class, and what differs from that class' defaults and from SIZES
CASES = {
    'albert': ('AlbertModel', {}),
    'apertus': ('ApertusForCausalLM', {'rope_parameters': LLAMA3}),
    'arcee': ('ArceeForCausalLM', {'mlp_bias': True}),
    'aya_vision': ('AyaVisionForConditionalGeneration', {}),
    'bert': ('BertModel', {}),
    'biogpt': ('BioGptForCausalLM', {}),
    'bloom': ('BloomForCausalLM', {}),
    'cohere': ('CohereForCausalLM', {'use_qk_norm': True}),
    'cohere2': ('Cohere2ForCausalLM', {'sliding_window': 16, 'num_hidden_layers': 4}),
    'deepseek_v2': ('DeepseekV2ForCausalLM', {**LATENT, 'q_lora_rank': None, 'topk_method': 'greedy'}),
    'deepseek_v2 groups': ('DeepseekV2ForCausalLM', {**LATENT, 'topk_method': 'group_limited_greedy', 'n_group': 3,
                                                     'topk_group': 2}),
    'deepseek_v3': ('DeepseekV3ForCausalLM', {
        **LATENT, 'attention_bias': True, 'n_group': 3, 'topk_group': 2,
        'rope_parameters': dict(YARN, mscale=1., mscale_all_dim=.7, beta_fast=32, beta_slow=1)}),
    'deepseek_v3 halves': ('DeepseekV3ForCausalLM', {**LATENT, 'rope_interleave': False, 'n_group': 3, 'topk_group': 3}),
    'distilbert': ('DistilBertModel', {}),
    'dots1': ('Dots1ForCausalLM', {'sliding_window': 16, 'max_window_layers': 1}),
    'ernie4_5': ('Ernie4_5ForCausalLM', {'use_bias': True}),
    'ernie4_5_moe': ('Ernie4_5_MoeForCausalLM', {'use_bias': True}),
    'eurobert': ('EuroBertModel', {}),
    'exaone4': ('Exaone4ForCausalLM', {'sliding_window': 16, 'num_hidden_layers': 4}),
    'exaone_moe': ('ExaoneMoeForCausalLM', {'sliding_window': 16, 'num_hidden_layers': 4}),
    'falcon': ('FalconForCausalLM', {}),
    'falcon 40b': ('FalconForCausalLM', {'new_decoder_architecture': True, 'num_kv_heads': 2}),
    'falcon rw': ('FalconForCausalLM', {'parallel_attn': False, 'multi_query': False, 'bias': True}),
    'flex_olmo': ('FlexOlmoForCausalLM', {}),
    'gemma': ('GemmaForCausalLM', {}),
    'gemma2': ('Gemma2ForCausalLM', {'sliding_window': 16}),
    'gemma3': ('Gemma3ForConditionalGeneration', {'text_config': {'sliding_window': 16}}),
    'gemma3_text': ('Gemma3ForCausalLM', {
        'sliding_window': 16, 'layer_types': ['sliding_attention', 'full_attention', 'sliding_attention'],
        'rope_parameters': {'full_attention': {'rope_type': 'linear', 'rope_theta': 1000000., 'factor': 8.},
                            'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.}}}),
    'glm': ('GlmForCausalLM', {}),
    'glm4': ('Glm4ForCausalLM', {}),
    'glm4_moe': ('Glm4MoeForCausalLM', {'use_qk_norm': True, 'attention_bias': True, 'n_group': 3, 'topk_group': 2,
                                        'routed_scaling_factor': 1.5}),
    'glm4_moe_lite': ('Glm4MoeLiteForCausalLM', LATENT),
    'gpt2': ('GPT2LMHeadModel', {}),
    'gpt_bigcode': ('GPTBigCodeForCausalLM', {}),
    'gpt_bigcode mha': ('GPTBigCodeForCausalLM', {'multi_query': False}),
    'gpt_neo': ('GPTNeoForCausalLM', {'attention_types': [[['global', 'local'], 2]], 'num_layers': 4, 'window_size': 16}),
    'gpt_neox': ('GPTNeoXForCausalLM', {}),
    'gpt_neox serial': ('GPTNeoXForCausalLM', {'use_parallel_residual': False, 'attention_bias': False}),
    'gpt_oss': ('GptOssForCausalLM', {'sliding_window': 16, 'rope_parameters': dict(YARN, truncate=False)}),
    'gptj': ('GPTJForCausalLM', {'rotary_dim': 4}),
    'granite': ('GraniteForCausalLM', {'embedding_multiplier': 3., 'logits_scaling': 2., 'residual_multiplier': .5,
                                       'attention_multiplier': .2}),
    'granitemoe': ('GraniteMoeForCausalLM', {'embedding_multiplier': 3., 'logits_scaling': 2., 'residual_multiplier': .5,
                                             'attention_multiplier': .2}),
    'hunyuan_v1_dense': ('HunYuanDenseV1ForCausalLM', {}),
    'hunyuan_v1_dense alpha': ('HunYuanDenseV1ForCausalLM', {
        'rope_parameters': {'rope_type': 'dynamic', 'rope_theta': 10000., 'alpha': 50., 'factor': 1.}}),
    'hunyuan_v1_moe': ('HunYuanMoEV1ForCausalLM', {'moe_topk': 2}),
    'hyperclovax': ('HyperCLOVAXForCausalLM', {'embedding_multiplier': 3., 'logits_scaling': .5,
                                               'residual_multiplier': .5, 'attention_multiplier': .2}),
    'idefics3': ('Idefics3ForConditionalGeneration', {}),
    'internvl': ('InternVLForConditionalGeneration', {}),
    'jais2': ('Jais2ForCausalLM', {}),
    'lfm2': ('Lfm2ForCausalLM', {'layer_types': ['conv', 'full_attention', 'conv']}),
    'lfm2_moe': ('Lfm2MoeForCausalLM', {'layer_types': ['conv', 'full_attention', 'conv'], 'num_dense_layers': 1}),
    'lfm2_vl': ('Lfm2VlForConditionalGeneration', {'text_config': {'layer_types': ['conv', 'full_attention', 'conv']}}),
    'llama': ('LlamaForCausalLM', {}),
    'llama biases': ('LlamaForCausalLM', {'attention_bias': True, 'mlp_bias': True, 'tie_word_embeddings': True}),
    'llama dynamic': ('LlamaForCausalLM', {
        'rope_parameters': {'rope_type': 'dynamic', 'rope_theta': 10000., 'factor': 2.}}),
    'llama linear': ('LlamaForCausalLM', {
        'rope_parameters': {'rope_type': 'linear', 'rope_theta': 10000., 'factor': 4.}}),
    'llama llama3': ('LlamaForCausalLM', {'rope_parameters': LLAMA3}),
    'llama yarn': ('LlamaForCausalLM', {'rope_parameters': YARN}),
    'llama4': ('Llama4ForConditionalGeneration', {'text_config': {
        'num_hidden_layers': 2, 'intermediate_size_mlp': 40, 'attention_chunk_size': 24}}),
    'llama4_text': ('Llama4ForCausalLM', {'num_hidden_layers': 4, 'interleave_moe_layer_step': 2, 'intermediate_size_mlp': 40,
                                          'attention_chunk_size': 24, 'floor_scale': 8}),
    'llava': ('LlavaForConditionalGeneration', {}),
    'llava_next': ('LlavaNextForConditionalGeneration', {}),
    'llava_onevision': ('LlavaOnevisionForConditionalGeneration', {}),
    'minicpm3': ('MiniCPM3ForCausalLM', {**LATENT, 'dim_model_base': 20}),
    'minimax_m2': ('MiniMaxM2ForCausalLM', {}),
    'mistral': ('MistralForCausalLM', {'sliding_window': 16}),
    'mistral3': ('Mistral3ForConditionalGeneration', {}),
    'mixtral': ('MixtralForCausalLM', {}),
    'modernbert': ('ModernBertModel', {'local_attention': 16, 'num_hidden_layers': 4}),
    'mpt': ('MptForCausalLM', {}),
    'mt5 encoder': ('MT5EncoderModel', {}),
    'nemotron': ('NemotronForCausalLM', {'mlp_bias': True, 'attention_bias': True}),
    'olmo': ('OlmoForCausalLM', {}),
    'olmo2': ('Olmo2ForCausalLM', {}),
    'olmo3': ('Olmo3ForCausalLM', {
        'sliding_window': 16, 'layer_types': ['sliding_attention', 'full_attention', 'sliding_attention'],
        'rope_parameters': {'full_attention': YARN, 'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.}}}),
    'olmoe': ('OlmoeForCausalLM', {}),
    'openai-gpt': ('OpenAIGPTLMHeadModel', {}),
    'opt': ('OPTForCausalLM', {}),
    'opt 350m': ('OPTForCausalLM', {'do_layer_norm_before': False, 'word_embed_proj_dim': 16}),
    'persimmon': ('PersimmonForCausalLM', {}),
    'phi': ('PhiForCausalLM', {}),
    'phi qk': ('PhiForCausalLM', {'qk_layernorm': True}),
    'phi3': ('Phi3ForCausalLM', {'sliding_window': 16}),
    'phi3 longrope': ('Phi3ForCausalLM', {'original_max_position_embeddings': 32, 'rope_parameters': LONGROPE}),
    'phi3 longrope short': ('Phi3ForCausalLM', {'original_max_position_embeddings': 64, 'rope_parameters': LONGROPE}),
    'phimoe': ('PhimoeForCausalLM', {'sliding_window': 16, 'attention_bias': True, 'lm_head_bias': True,
                                     'router_jitter_noise': .1}),
    'phimoe longrope': ('PhimoeForCausalLM', {'rope_parameters': {
        **LONGROPE, 'original_max_position_embeddings': 64, 'short_mscale': 1.2, 'long_mscale': 1.2}}),
    'qwen2': ('Qwen2ForCausalLM', {}),
    'qwen2 window': ('Qwen2ForCausalLM', {'use_sliding_window': True, 'sliding_window': 16, 'max_window_layers': 1}),
    'qwen2_5_vl': ('Qwen2_5_VLForConditionalGeneration', {'text_config': {
        'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000., 'mrope_section': [1, 1, 2]}}}),
    'qwen2_moe': ('Qwen2MoeForCausalLM', {}),
    'qwen2_vl': ('Qwen2VLForConditionalGeneration', {'text_config': {
        'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000., 'mrope_section': [1, 1, 2]}}}),
    'qwen3': ('Qwen3ForCausalLM', {}),
    'qwen3_moe': ('Qwen3MoeForCausalLM', {'norm_topk_prob': True}),
    'qwen3_vl': ('Qwen3VLForConditionalGeneration', {}),
    'qwen3_vl_moe': ('Qwen3VLMoeForConditionalGeneration', {}),
    'qwen3_5_text': ('Qwen3_5ForCausalLM', DELTA),
    'qwen3_5_moe_text': ('Qwen3_5MoeForCausalLM', DELTA),
    'qwen3_5': ('Qwen3_5ForConditionalGeneration', {'text_config': DELTA}),
    'qwen3_next': ('Qwen3NextForCausalLM', DELTA),
    'qwen3_next dense': ('Qwen3NextForCausalLM', {**DELTA, 'mlp_only_layers': [1], 'norm_topk_prob': False}),
    'roberta': ('RobertaModel', {}),
    'seed_oss': ('SeedOssForCausalLM', {'attention_out_bias': True}),
    'smollm3': ('SmolLM3ForCausalLM', {'no_rope_layers': [1, 0, 1]}),
    'smolvlm': ('SmolVLMForConditionalGeneration', {}),
    'solar_open': ('SolarOpenForCausalLM', {}),
    'stablelm': ('StableLmForCausalLM', {'use_qkv_bias': True, 'qk_layernorm': True}),
    'stablelm parallel': ('StableLmForCausalLM', {'use_parallel_residual': True}),
    'starcoder2': ('Starcoder2ForCausalLM', {'sliding_window': 16}),
    't5 encoder': ('T5EncoderModel', {}),
    't5 encoder gated': ('T5EncoderModel', {'feed_forward_proj': 'gated-gelu'}),
    'umt5 encoder': ('UMT5EncoderModel', {}),
    'xlm_roberta': ('XLMRobertaModel', {}),
}
N_TOKENS, VOCAB = 64, SIZES['vocab_size']
ROWS, EVERY = range(7, N_TOKENS, 8), 3  # positions, and words of them, of which the logits are kept
HEAD_ROWS, HEAD_NUMBERS = (31, 63), 4
# The module that reads what the heads of layer 1 give.
OUTPUT = re.compile(r'\.1\.(\w*(attn|[aA]ttention)\w*\.|layer\.0\.)+'
                    r'(o_proj|c_proj|out_proj|out_lin|output\.dense|dense|o|Wo|attn_out)$')


class Doubled(TorchFunctionMode):
    """Whatever asks for float32 gets float64."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        double = lambda x: torch.float64 if x is torch.float32 else x
        function = torch.Tensor.double if function is torch.Tensor.float else function
        return function(*map(double, args), **{key: double(x) for key, x in (kwargs or {}).items()})


def small(default):
    """What a config's keys become, those of its parts as well."""
    out = {key: size for key, size in SIZES.items() if key in default}
    for key, part in default.items():
        if key.endswith('_config') and isinstance(part, dict) and 'model_type' in part:
            tower = {} if key == 'text_config' else TOWER
            out[key] = {'model_type': part['model_type'], **small(part), **{k: n for k, n in tower.items() if k in part}}
    return out


def merged(base, more):
    return {**base, **{key: merged(base[key], value) if key.endswith('_config') else value for key, value in more.items()}}


def small_config(cls, more):
    return cls.config_class(**merged(small(cls.config_class().to_dict()), more))


def differences(config, default):
    config, default = (json.loads(c.to_json_string(use_diff=False)) for c in (config, default))
    keep = ('model_type', 'architectures', 'tie_word_embeddings')
    return {key: value for key, value in config.items() if key in keep or value != default.get(key)}


def by_shape(tensors):
    names = collections.defaultdict(list)
    for name, shape in collapsed((name, 'x'.join(map(str, shape))) for name, shape in tensors):
        names[shape].append(name)
    return names


def shapes(cls, config):
    with torch.device('meta'):
        model = cls._from_config(copy.deepcopy(config), dtype=torch.float32)
    model.tie_weights()
    return [[name, list(t.shape)] for name, t in saved(model).items()]


def run(cls, folder):
    """Logits or hidden states [tokens][numbers], and the heads' outputs of layer 1 [tokens][numbers], or None."""
    model = cls.from_pretrained(folder, dtype=torch.float64, attn_implementation='eager', experts_implementation='eager')
    outputs = [module for name, module in model.named_modules() if OUTPUT.search('.' + name) and 'vision' not in name]
    heads = []
    if len(outputs) == 1:
        outputs[0].register_forward_pre_hook(lambda module, args: heads.append(args[0]))
    with torch.no_grad():
        out = model.eval()(torch.tensor([tokens(N_TOKENS, VOCAB)]), **({} if 'Encoder' in cls.__name__ else {'use_cache': False}))
    return (out.logits if 'logits' in out else out.last_hidden_state)[0], heads[0][0] if len(heads) == 1 else None


def short(x):
    return float('%.9g' % x)


def digest(name, cls, more):
    config = small_config(cls, more)
    config.architectures = [cls.__name__]
    written, tensors = differences(config, cls.config_class()), shapes(cls, config)
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, written, tensors)
        out, heads = run(cls, folder)
    case = {'name': name, 'config': written, 'tensors': by_shape(tensors), 'largest': short(out.abs().max()),
            'sum': short(out.abs().sum()), 'numbers': [[short(x) for x in out[row][::EVERY]] for row in ROWS]}
    if heads is not None:
        text = config.get_text_config()
        n = getattr(text, 'num_attention_heads', getattr(text, 'num_heads', None))
        of = heads.reshape(N_TOKENS, n, -1)
        case['heads'] = {'largest': short(of.abs().max()),
                         'numbers': [[[short(x) for x in of[row][head][:HEAD_NUMBERS]] for row in HEAD_ROWS]
                                     for head in range(n)]}
    return case


def main():
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_default_dtype(torch.float64)
    cases, chosen = [], sys.argv[2:] or sorted(CASES)
    for name in chosen:
        cls, more = CASES[name]
        try:
            with Doubled():
                cases.append(digest(name, getattr(transformers, cls), more))
        except Exception as error:
            raise SystemExit('%s: %s' % (name, reason(error)))
    with open(sys.argv[1], 'w') as file:
        head = {'made_by': {'transformers': transformers.__version__, 'torch': torch.__version__.split('+')[0]},
                'vocabulary': VOCAB, 'tokens': N_TOKENS, 'rows': list(ROWS), 'every': EVERY,
                'head_rows': HEAD_ROWS}
        file.write(json.dumps(head, indent=1)[:-2] + ',\n "cases": [\n')
        file.write(',\n'.join(json.dumps(case, separators=(',', ':')) for case in cases))
        file.write('\n]}\n')


if __name__ == '__main__':
    main()

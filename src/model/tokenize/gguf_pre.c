/* Pre-tokenizers by the names that llama.cpp's converter gives them: where a text is split before
 * byte-pair encoding, as the models' own tokenizer.json say it.
 *= ggml-org/llama.cpp, src/llama-vocab.cpp; names: convert_hf_to_gguf_update.py */
#include "model/tokenize/gguf.h"

#include "base/text.h"

#define SPLIT(regex) \
	"{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex \
	"\"},\"behavior\":\"Isolated\",\"invert\":false},"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"
#define GPT_2 "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define DIGITS "{\"type\":\"Digits\",\"individual_digits\":true},"
#define ENGLISH "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS "|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+"
#define REST "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define UPPER "[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]"
#define LOWER "[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]"
#define CASES(ending) \
	"[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?" UPPER "*" LOWER "+" ending \
	"|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?" UPPER "+" LOWER "*" ending
#define CASES_REST \
	"| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n/]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"

#define NFC "{\"type\":\"NFC\"}"

#define LLAMA_3 SPLIT(ENGLISH WORDS "|\\\\p{N}{1,3}" REST) BYTES
#define QWEN_2 SPLIT(ENGLISH WORDS "|\\\\p{N}" REST) BYTES
#define GPT_4O SPLIT(CASES(ENGLISH "?") "|\\\\p{N}{1,3}" CASES_REST) BYTES
#define DEEPSEEK_3 \
	SPLIT("\\\\p{N}{1,3}") \
	SPLIT("[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+") \
	SPLIT("[!\\\"#$%&'()*+,\\\\-./:;<=>?@\\\\[\\\\\\\\\\\\]^_`{|}~][A-Za-z]+" \
	      "|[^\\r\\n\\\\p{L}\\\\p{P}\\\\p{S}]?[\\\\p{L}\\\\p{M}]+" \
	      "| ?[\\\\p{P}\\\\p{S}]+[\\r\\n]*|\\\\s*[\\r\\n]+|\\\\s+(?!\\\\S)|\\\\s+") \
	BYTES

static const struct al_gguf_pre pres[] = {
	{.names = {"gpt-2", "phi-2", "olmo", "mpt", "exaone4", "modern-bert"}, .parts = GPT_2},
	{.names = {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone"},
		.parts = DIGITS GPT_2},
	{.names = {"llama-bpe", "llama3", "llama-v3", "falcon3"},
		.parts = LLAMA_3,
		.adds_bos = true,
		.ignores_merges = true},
	{.names = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, .parts = LLAMA_3},
	{.names = {"qwen2", "deepseek-r1-qwen"}, .parts = QWEN_2, .normalizer = NFC},
	{.names = {"stablelm2", "hunyuan"}, .parts = QWEN_2},
	{.names = {"gpt-4o", "llama4"}, .parts = GPT_4O},
	{.names = {"tekken"},
		.parts = SPLIT(CASES("") "|\\\\p{N}" CASES_REST) BYTES,
		.adds_bos = true,
		.ignores_merges = true},
	{.names = {"deepseek-v3", "hunyuan-dense"}, .parts = DEEPSEEK_3},
};
enum { N_PRES = sizeof(pres) / sizeof(*pres) };

bool al_gguf_pre_find(const char *name, const struct al_gguf_pre **out, struct al_error *err)
{
	for (size_t i = 0; i < N_PRES; i++)
		for (size_t j = 0; j < AL_GGUF_MOST_PRE_NAMES && pres[i].names[j]; j++)
			if (strcmp(pres[i].names[j], name) == 0) {
				*out = &pres[i];
				return true;
			}
	return al_fail(err, AL_EINPUT,
		"tokenizer.ggml.pre is \"%.60s\", a pre-tokenizer that isn't known here; "
		"--tokens takes numbers",
		name);
}

/* Pre-tokenizers by the names that llama.cpp's converter gives them: where a text is split before
 * byte-pair encoding, as the models' own tokenizer.json say it.
 *= ggml-org/llama.cpp, src/llama-vocab.cpp; names: convert_hf_to_gguf_update.py */
#include "model/tokenize/internal.h"

#define ENGLISH "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASES(ending) \
	"[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" ending "|[^\\r\\n\\p{L}\\p{N}]?" UPPER \
	"+" LOWER "*" ending
#define CASES_REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

#define LLAMA_3 ENGLISH WORDS "|\\p{N}{1,3}" REST
#define QWEN_2 ENGLISH WORDS "|\\p{N}" REST

static const struct al_gguf_pre pres[] = {
	{.names = {"gpt-2", "phi-2", "olmo", "mpt", "exaone4", "modern-bert"}},
	{.names = {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone"},
		.splits_digits = true},
	{.names = {"llama-bpe", "llama3", "llama-v3", "falcon3"},
		.splits = {LLAMA_3},
		.adds_bos = true,
		.ignores_merges = true},
	{.names = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, .splits = {LLAMA_3}},
	{.names = {"qwen2", "deepseek-r1-qwen"}, .splits = {QWEN_2}, .is_nfc = true},
	{.names = {"stablelm2", "hunyuan"}, .splits = {QWEN_2}},
	{.names = {"gpt-4o", "llama4"}, .splits = {CASES(ENGLISH "?") "|\\p{N}{1,3}" CASES_REST}},
	{.names = {"tekken"},
		.splits = {CASES("") "|\\p{N}" CASES_REST},
		.adds_bos = true,
		.ignores_merges = true},
	{.names = {"deepseek-v3", "hunyuan-dense"},
		.splits = {"\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
			"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
			"|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
			"| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"}},
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

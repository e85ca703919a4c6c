/* What a file says that it is for, where that isn't a model: general.type of GGUF's metadata.
 *= ggml-org/llama.cpp, gguf-py/gguf/constants.py, GGUFType */
#include "formats/checkpoint.h"

#include <string.h>

static const struct {
	const char *type, *what;
} others[] = {
	{"imatrix",
		"an imatrix, sums of a model's activations: --calibration takes it beside the "
		"model"},
	{"adapter",
		"an adapter (LoRA), what is added to a model's weights: expected the model, or "
		"both merged (llama-export-lora)"},
	{"mmproj", "what a model sees images with (mmproj), expected the model's own file"},
	{"vocab", "a tokenizer without weights"},
};
enum { N_OTHERS = sizeof(others) / sizeof(*others) };

bool al_checkpoint_check_purpose(const struct al_checkpoint *checkpoint, struct al_error *err)
{
	const char *type = al_checkpoint_metadata(checkpoint, "general.type");

	for (size_t i = 0; type && i < N_OTHERS; i++)
		if (strcmp(type, others[i].type) == 0)
			return al_fail(err, AL_EINPUT, "%s: is %s", checkpoint->path,
				others[i].what);
	return true;
}

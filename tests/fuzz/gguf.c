/* A GGUF file: tensors lie within it and can be read from any element on, and what it says of
 * itself is JSON. */
#include "base/json.h"
#include "checkpoint.h"

static void visit_tensor(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor)
{
	struct al_error err = {0};

	FUZZ_CHECK(tensor->offset + tensor->bytes <= checkpoint->bytes);
	FUZZ_CHECK(fuzz_read(checkpoint, tensor, &err) == (tensor->dtype->to_double != NULL));
}

static void visit(const struct al_checkpoint *checkpoint)
{
	const char *config = checkpoint->header_config;
	struct al_json json;
	struct al_error err = {0};

	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		visit_tensor(checkpoint, &checkpoint->tensors[i]);
	if (!config)
		return;
	/* a key may come twice: behind the architecture's name and behind the tokenizer's */
	if (al_json_parse(&json, "config", config, strlen(config), &err))
		al_json_finish(&json);
	else
		FUZZ_CHECK(strstr(err.message, "twice"));
}

int fuzz_input(const uint8_t *data, size_t size)
{
	fuzz_checkpoint(data, size, "fuzz.gguf", "GGUF", visit);
	return 0;
}

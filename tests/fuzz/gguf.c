/* A GGUF file: tensors lie within it and can be read from any element on, what it says of itself is
 * JSON, and a copy says the same. */
#include "base/json.h"
#include "checkpoint.h"
#include "formats/gguf_write.h"

static void visit_tensor(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor)
{
	struct al_error err = {0};

	FUZZ_CHECK(tensor->offset + tensor->bytes <= checkpoint->bytes);
	FUZZ_CHECK(fuzz_read(checkpoint, tensor, &err) == (tensor->dtype->to_double != NULL));
}

static void write_copy(const struct al_checkpoint *checkpoint, const char *path)
{
	struct al_tensor_writer *writer;
	struct al_error err = {0};

	FUZZ_CHECK(al_gguf_create(&writer, path, &checkpoint->shards[0], NULL, 0,
		checkpoint->tensors, checkpoint->n_tensors, &err));
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		AL_FREED unsigned char *bytes = al_alloc((size_t)tensor->bytes, 1);
		FUZZ_CHECK(al_tensor_read_bytes(checkpoint, tensor, 0, bytes, (size_t)tensor->bytes,
				   &err)
			&& al_tensor_writer_append(writer, bytes, (size_t)tensor->bytes, &err)
			&& al_tensor_writer_align(writer, &err));
	}
	FUZZ_CHECK(al_tensor_writer_commit(writer, &err));
}

static void copy(const struct al_checkpoint *checkpoint)
{
	struct al_checkpoint read;
	struct al_error err = {0};
	char path[256];

	snprintf(path, sizeof(path), "%s.copy", checkpoint->path);
	write_copy(checkpoint, path);
	FUZZ_CHECK(al_checkpoint_open(&read, path, &err));
	FUZZ_CHECK(read.n_tensors == checkpoint->n_tensors
		&& read.n_metadata == checkpoint->n_metadata);
	FUZZ_CHECK(!read.header_config == !checkpoint->header_config
		&& (!read.header_config
			|| strcmp(read.header_config, checkpoint->header_config) == 0));
	al_checkpoint_close(&read);
	remove(path);
}

static void visit(const struct al_checkpoint *checkpoint)
{
	const char *config = checkpoint->header_config;
	struct al_json json;
	struct al_error err = {0};

	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		visit_tensor(checkpoint, &checkpoint->tensors[i]);
	if (checkpoint->n_shards == 1)
		copy(checkpoint);
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

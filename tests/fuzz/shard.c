/* Facts and tables of a part of an audit: what is read is written as it was, or refused with its
 * place. */
#include "audit/shard/shard.h"
#include "fuzz.h"

static void write_again(const struct al_shard_file *shard, struct al_text *out)
{
	const struct al_table **tables = calloc(shard->n_tables + 1, sizeof(struct al_table *));

	FUZZ_CHECK(tables != NULL);
	for (size_t i = 0; i < shard->n_tables; i++)
		tables[i] = &shard->tables[i];
	al_text_init(out);
	al_shard_file_write(shard, tables, shard->n_tables, out);
	free(tables);
}

/* Written twice it is the same: nothing is lost on the way. */
static void read_shard(const char *text, size_t size)
{
	struct al_shard_file shard, again;
	struct al_error err = {0};
	struct al_text first, second;

	if (!al_shard_file_parse(&shard, "fuzz", text, size, &err)) {
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz:", 5) == 0);
		return;
	}
	write_again(&shard, &first);
	FUZZ_CHECK(al_shard_file_parse(&again, "fuzz", first.data, first.length, &err));
	write_again(&again, &second);
	FUZZ_CHECK(strcmp(first.data, second.data) == 0);
	al_text_finish(&second);
	al_text_finish(&first);
	al_shard_file_finish(&again);
	al_shard_file_finish(&shard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	read_shard(text, size);
	free(text);
	return 0;
}

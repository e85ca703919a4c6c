/* Facts and tables of a part of an audit: what is read is written as it was, or refused with its
 * place. */
#include "audit/shard/shard.h"
#include "fuzz.h"

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
	al_text_init(&first);
	al_shard_file_write(&shard, &first);
	FUZZ_CHECK(al_shard_file_parse(&again, "fuzz", first.data, first.length, &err));
	al_text_init(&second);
	al_shard_file_write(&again, &second);
	FUZZ_CHECK(strcmp(first.data, second.data) == 0);
	al_text_finish(&second);
	al_text_finish(&first);
	al_shard_file_finish(&again);
	al_shard_file_finish(&shard);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	read_shard(text, size);
	free(text);
	return 0;
}

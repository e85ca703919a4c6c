/* Facts and tables of a part of an audit: what is read is written as it was, or refused with its
 * place. */
#include "audit/shard/fragment.h"
#include "fuzz.h"

static void write_again(const struct al_fragment *fragment, struct al_text *out)
{
	const struct al_table **tables = calloc(fragment->n_tables + 1, sizeof(struct al_table *));

	FUZZ_CHECK(tables != NULL);
	for (size_t i = 0; i < fragment->n_tables; i++)
		tables[i] = &fragment->tables[i];
	al_text_init(out);
	al_fragment_write(fragment, tables, fragment->n_tables, out);
	free(tables);
}

/* Written twice it is the same: nothing is lost on the way. */
static void read_fragment(const char *text, size_t size)
{
	struct al_fragment fragment, again;
	struct al_error err = {0};
	struct al_text first, second;

	if (!al_fragment_parse(&fragment, "fuzz", text, size, &err)) {
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz:", 5) == 0);
		return;
	}
	write_again(&fragment, &first);
	FUZZ_CHECK(al_fragment_parse(&again, "fuzz", first.data, first.length, &err));
	write_again(&again, &second);
	FUZZ_CHECK(strcmp(first.data, second.data) == 0);
	al_text_finish(&second);
	al_text_finish(&first);
	al_fragment_finish(&again);
	al_fragment_finish(&fragment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	read_fragment(text, size);
	free(text);
	return 0;
}

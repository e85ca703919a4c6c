/* Rows of a part of an audit, and a part's manifest: what is read is written as it was, or refused
 * with its place. */
#include "fragment/manifest.h"
#include "fragment/rows.h"
#include "fuzz.h"

static void write_rows(const struct al_fragment_rows *rows, struct al_text *out)
{
	const struct al_table **tables = calloc(rows->n_tables + 1, sizeof(struct al_table *));

	FUZZ_CHECK(tables != NULL);
	for (size_t i = 0; i < rows->n_tables; i++)
		tables[i] = &rows->tables[i];
	al_text_init(out);
	al_fragment_rows_write(rows->module, tables, rows->n_tables, rows->matrices,
		rows->n_matrices, out);
	free(tables);
}

/* Written twice it is the same: nothing is lost on the way. */
static void read_rows(const char *text, size_t size)
{
	struct al_fragment_rows rows, again;
	struct al_error err = {0};
	struct al_text first, second;

	if (!al_fragment_rows_parse(&rows, "fuzz", text, size, &err)) {
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz:", 5) == 0);
		return;
	}
	write_rows(&rows, &first);
	FUZZ_CHECK(al_fragment_rows_parse(&again, "fuzz", first.data, first.length, &err));
	write_rows(&again, &second);
	FUZZ_CHECK(strcmp(first.data, second.data) == 0);
	al_text_finish(&second);
	al_text_finish(&first);
	al_fragment_rows_finish(&again);
	al_fragment_rows_finish(&rows);
}

static void read_manifest(const char *text, size_t size)
{
	struct al_manifest manifest, again;
	struct al_error err = {0};
	struct al_arena arena;
	struct al_text written;

	al_arena_init(&arena);
	if (al_manifest_parse(&manifest, &arena, "fuzz", text, size, &err)) {
		al_text_init(&written);
		al_manifest_write(&manifest, &written);
		FUZZ_CHECK(al_manifest_parse(&again, &arena, "fuzz", written.data, written.length,
			&err));
		FUZZ_CHECK(al_manifest_check_same(&manifest, &again, &err));
		al_text_finish(&written);
	} else {
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz:", 5) == 0);
	}
	al_arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	read_rows(text, size);
	read_manifest(text, size);
	free(text);
	return 0;
}

/* Logs of engines: read by the expressions of each one's file. */
#include "base/arena.h"
#include "catalog/engine.h"
#include "fuzz.h"

enum { MOST_BYTES = 1 << 16 };

static void check_facts(const struct al_log_facts *facts)
{
	for (size_t i = 0; i < facts->n; i++) {
		const struct al_log_fact *fact = &facts->items[i];
		FUZZ_CHECK(fact->line >= 1 && *fact->name && !strchr(fact->text, ','));
		FUZZ_CHECK(al_log_find(facts, fact->name) == fact);
		FUZZ_CHECK(!fact->value == !fact->half);
		if (fact->value)
			FUZZ_CHECK(mpq_sgn(fact->value) >= 0 && mpq_sgn(fact->half) > 0);
	}
	FUZZ_CHECK(facts->n == 0 || facts->n_lines > 0);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	const struct al_embedded_list *engines = al_catalog_files(AL_CATALOG_ENGINES);
	struct al_catalog *catalog;
	struct al_arena arena;
	struct al_error err = {0};

	if (size > MOST_BYTES)
		return 0;
	al_arena_init(&arena);
	const char *text = al_strndup(&arena, (const char *)data, size);
	catalog = al_catalog_create();
	for (size_t i = 0; i < engines->n_files; i++) {
		const struct al_engine *engine;
		struct al_log_facts facts;
		FUZZ_CHECK(al_catalog_engine(catalog, engines->files[i].name, &engine, &err));
		FUZZ_CHECK(al_engine_log_read(&arena, engine, text, &facts, &err));
		check_facts(&facts);
	}
	al_catalog_destroy(catalog);
	al_arena_finish(&arena);
	return 0;
}

/* What the commands that read a checkpoint share. */
#include "commands/checkpoint.h"

#include <inttypes.h>

#include "base/number.h"

const char *count_of(struct al_arena *arena, uint64_t count, const char *what)
{
	const char *number = al_exact_grouped(arena, al_format(arena, "%" PRIu64, count));

	return al_format(arena, "%s %s%s", number, what, count == 1 ? "" : "s");
}

static void note_files(struct al_table *table, const struct al_checkpoint *checkpoint)
{
	if (checkpoint->index)
		al_table_note(table, "index: %s, files: %zu", checkpoint->index,
			checkpoint->n_shards);
	else
		al_table_note(table, "file: %s (%s)", checkpoint->shards[0].source.path,
			checkpoint->shards[0].format);
	if (checkpoint->config)
		al_table_note(table, "config: %s", checkpoint->config);
}

void checkpoint_note(struct al_table *table, const struct al_checkpoint *checkpoint)
{
	uint64_t header_bytes = 0;

	for (size_t i = 0; i < checkpoint->n_shards; i++)
		header_bytes += checkpoint->shards[i].header_bytes;
	note_files(table, checkpoint);
	al_table_note(table, "size: %s", count_of(&table->arena, checkpoint->bytes, "byte"));
	al_table_note(table, "header: %s, fnv1a %016" PRIx64,
		count_of(&table->arena, header_bytes, "byte"), checkpoint->header_hash);
}

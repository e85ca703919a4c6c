/* inspect: what a checkpoint holds. */
#include <libgen.h>

#include "answer/checkpoint.h"
#include "report/claim.h"

enum { NUMBERS_AT_ONCE = 64 * 1024, MOST_VALUE_BYTES = 120, MOST_METADATA = 20, MOST_NAMES = 3 };

enum table { TABLE_TENSORS, TABLE_MODULES, N_TABLES };

static const char *const table_names[N_TABLES] = {"tensors", "modules"};

struct inspect_options {
	struct al_output_options output;
	struct al_layout_options layout;
	bool shows_values;
	/* Both tables make an answer for people; a script asks for the one that it reads, so that
	 * the family's match with the checkpoint doesn't change the form of its answer. */
	uint64_t only;
};

static const struct al_option_row rows[] = {
	OPTION_SET(struct inspect_options, only, "only", "A,B", "print only these tables",
		.words = table_names, .n_words = N_TABLES, .noun = "table", .shows_all = true),
	OPTION_FLAG(struct inspect_options, shows_values, "values",
		"read all values: minimum, maximum, mean, NaN and infinities"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS_WITHOUT_ONLY,
	{al_layout_rows, offsetof(struct inspect_options, layout)}, {rows, 0}, {NULL, 0}};

/* One answer. */
struct inspection {
	struct al_session *session;
	struct al_checkpoint *checkpoint;
	struct al_table *table; /* NULL: tensors aren't listed */
	bool shows_values;
	const char *names; /* of the first tensors with numbers that aren't finite */
	size_t n_tensors, n_unread; /* such; and those whose numbers can't be read */
	int64_t n_nan, n_infinite;
};

/* ---- rows ---- */

/* The smallest, the largest and the mean are of the finite numbers; the others are counted. */
struct record {
	const char *name, *dtype, *shape, *file;
	int64_t bytes;
	double min, max, mean;
	int64_t n_nan, n_infinite;
};

enum { WITH_FILES = 1, WITH_VALUES = 2 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, name, "Tensor")},
	{AL_SHOW(struct record, dtype, "Format")},
	{AL_SHOW(struct record, shape, "Shape")},
	{AL_SHOW_BYTES(struct record, bytes, "Size")},
	{AL_SHOW(struct record, file, "File"), .when = WITH_FILES},
	{AL_SHOW_WHOLE(struct record, min, "Smallest"), .when = WITH_VALUES},
	{AL_SHOW_WHOLE(struct record, max, "Largest"), .when = WITH_VALUES},
	{AL_SHOW_WHOLE(struct record, mean, "Mean"), .when = WITH_VALUES},
	{{.key = "nan", .title = "NaN"}, AL_MEMBER(struct record, n_nan), .when = WITH_VALUES},
	{{.key = "inf", .title = "Infinite"}, AL_MEMBER(struct record, n_infinite),
		.when = WITH_VALUES},
	AL_FIELDS_END,
};

/* Sums a block at a time: the error stays far below what is printed. */
static double add_values(struct record *record, const double *numbers, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double x = numbers[i];
		if (!isfinite(x)) {
			record->n_nan += isnan(x);
			record->n_infinite += isinf(x) != 0;
			continue;
		}
		record->min = record->min <= x ? record->min : x;
		record->max = record->max >= x ? record->max : x;
		sum += x;
	}
	return sum;
}

static bool read_values(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	struct record *record, struct al_error *err)
{
	double *numbers = al_alloc(NUMBERS_AT_ONCE, sizeof(*numbers)), sum = 0;
	bool ok = true;

	record->n_nan = record->n_infinite = 0;
	for (int64_t first = 0; ok && first < tensor->n_elements; first += NUMBERS_AT_ONCE) {
		int64_t left = tensor->n_elements - first;
		struct al_selection block = {.first = first,
			.n_runs = 1,
			.run = al_least(left, NUMBERS_AT_ONCE)};
		ok = al_tensor_read_double(checkpoint, tensor, &block, numbers, NUMBERS_AT_ONCE,
			err);
		if (ok)
			sum += add_values(record, numbers, block.run);
	}
	free(numbers);
	const int64_t n_finite = tensor->n_elements - record->n_nan - record->n_infinite;
	record->mean = n_finite ? sum / (double)n_finite : NAN;
	return ok;
}

static bool add_row(struct inspection *in, const struct al_tensor *tensor, struct al_error *err)
{
	struct al_arena *arena = &in->session->arena;
	struct record record = {tensor->name, al_dtype_title(tensor->dtype),
		al_shape_text(arena, tensor->shape, tensor->n_dims),
		basename(al_strdup(arena, in->checkpoint->shards[tensor->shard].source.path)),
		(int64_t)tensor->bytes, NAN, NAN, NAN, INT64_MIN, INT64_MIN};

	in->n_unread += !tensor->dtype->to_double;
	if (in->shows_values && tensor->dtype->to_double) {
		if (!read_values(in->checkpoint, tensor, &record, err))
			return false;
		in->n_nan += record.n_nan;
		in->n_infinite += record.n_infinite;
		if (record.n_nan + record.n_infinite > 0 && in->n_tensors++ < MOST_NAMES)
			in->names = al_join(arena, in->names, tensor->name);
	}
	al_table_add_record(in->table, &record);
	return true;
}

/* ---- notes ---- */

static void note_one(struct al_table *table, const struct al_metadata *metadata)
{
	const char *value = metadata->value;
	size_t length = strlen(value), shown = length;

	if (shown > MOST_VALUE_BYTES)
		for (shown = MOST_VALUE_BYTES; ((unsigned char)value[shown] & 0xC0) == 0x80;)
			shown--;
	al_table_note(table, "metadata: %.*s = %.*s%s", MOST_VALUE_BYTES, metadata->key, (int)shown,
		value, shown < length ? "..." : "");
}

/* Shards that agree share one note. */
static void note_metadata(struct inspection *inspection)
{
	const struct al_checkpoint *checkpoint = inspection->checkpoint;
	struct al_table *table = inspection->table;
	const size_t before = table->n_notes;

	for (size_t i = 0; i < checkpoint->n_metadata; i++) {
		note_one(table, &checkpoint->metadata[i]);
		if (table->n_notes - before > MOST_METADATA) {
			table->n_notes--;
			al_table_note(table, "metadata: ... (%zu in all)", checkpoint->n_metadata);
			return;
		}
	}
}

struct total {
	uint64_t tensors, elements, bytes;
};

/* Totals of the tensors of one dtype; NULL: of all. */
static struct total add_up(const struct al_checkpoint *checkpoint, const struct al_dtype *dtype)
{
	struct total total = {0};

	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		if (dtype && tensor->dtype != dtype)
			continue;
		total.tensors++;
		total.elements += (uint64_t)tensor->n_elements;
		total.bytes += tensor->bytes;
	}
	return total;
}

static void note_total(struct al_table *table, const char *what, const struct total *total)
{
	struct al_arena *arena = &table->arena;

	al_table_note(table, "%s: %s, %s, %s", what, al_count_text(arena, total->tensors, "tensor"),
		al_count_text(arena, total->elements, "element"),
		al_count_text(arena, total->bytes, "byte"));
}

static void note_totals(struct inspection *inspection)
{
	struct total total = add_up(inspection->checkpoint, NULL);

	note_total(inspection->table, "all", &total);
	for (size_t d = 0; al_dtype_at(d); d++) {
		total = add_up(inspection->checkpoint, al_dtype_at(d));
		if (total.tensors)
			note_total(inspection->table, al_dtype_title(al_dtype_at(d)), &total);
	}
}

static void note_values(const struct inspection *in)
{
	struct al_table *table = in->table;

	if (!in->shows_values) {
		al_note_numbers_unread(table);
		return;
	}
	if (in->n_tensors == 0)
		al_table_note(table, "values: all finite");
	else
		al_table_warn(table, "values: %" PRId64 " NaN and %" PRId64 " infinite in %s: %s%s",
			in->n_nan, in->n_infinite,
			al_count_text(&table->arena, in->n_tensors, "tensor"), in->names,
			in->n_tensors > MOST_NAMES ? ", ..." : "");
	if (in->n_unread)
		al_table_warn(table, "tensors whose format can't be converted: %zu", in->n_unread);
}

/* ggml keeps a name in 64 bytes with its end, and its reader refuses longer ones.
 *= ggml-org/llama.cpp, ggml/src/gguf.cpp, GGML_MAX_NAME */
static void note_long_names(const struct inspection *in)
{
	enum { MOST_BYTES = 63 };
	const struct al_checkpoint *checkpoint = in->checkpoint;
	const char *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		if (strcmp(checkpoint->shards[tensor->shard].format, "GGUF") != 0
			|| strlen(tensor->name) <= MOST_BYTES)
			continue;
		first = first ? first : tensor->name;
		n++;
	}
	if (n > 0)
		al_table_warn(in->table,
			"llama.cpp rejects this file: %s with a name of more than %d bytes, "
			"\"%.80s\"%s",
			al_count_text(&in->table->arena, n, "tensor"), MOST_BYTES, first,
			n > 1 ? ", ..." : "");
}

/* ---- attention modules, and how their heads lie ---- */

static void get_attention(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct al_attention *a = record;

	al_cell_set_text(table, cell, a->is_cross ? "cross" : "self");
}

static void get_variant(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct al_attention *a = record;

	al_cell_set_text(table, cell, a->variant->name);
}

static void get_positions(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct al_attention *a = record;

	al_cell_set_text(table, cell,
		!a->is_rotary				     ? "not rotary"
			: a->rotary_pairs == AL_PAIRS_HALVES ? "rotary, halves"
							     : "rotary, interleaved");
}

static const struct al_table_field module_fields[] = {
	{AL_COLUMN_KEY("module", "Module"), AL_MEMBER(struct al_attention, name)},
	{AL_SHOW_WHOLE(struct al_attention, layer, "Layer")},
	{{.key = "attention", .title = "Attention"}, .get = get_attention},
	{{.key = "variant", .title = "Variant"}, .get = get_variant},
	{AL_SHOW_WHOLE(struct al_attention, n_heads, "Heads")},
	{AL_SHOW_WHOLE(struct al_attention, n_kv_heads, "KV heads")},
	{AL_SHOW_WHOLE(struct al_attention, d_head, "Width")},
	{AL_SHOW_WHOLE(struct al_attention, d_value, "Value width")},
	{{.key = "positions", .title = "Positions"}, .get = get_positions},
	AL_FIELDS_END,
};

static void add_modules(struct al_session *session, const struct al_model_view *view)
{
	struct al_table *table = al_session_table(session, "modules", module_fields, 0,
		"Attention modules");

	for (size_t i = 0; i < view->n_modules; i++)
		al_table_add_record(table, &view->modules[i]);
	al_table_note(table, "family: %s, %s", view->family->name,
		al_recognition_text(table, view));
	for (size_t i = 0; i < view->n_notes; i++)
		al_table_note(table, "%s", view->notes[i]);
}

/* If no family fits, a note under the table of tensors explains why. Without that table, or if the
 * user gave a family or heads that don't fit, it is an error. */
static bool list_modules(struct inspection *in, struct al_error *err)
{
	const struct inspect_options *o = in->session->options;
	const char *config = al_session_word(in->session, 1);
	const bool is_asked = o->layout.heads || o->layout.layout || config || o->only;
	struct al_error reason;
	struct al_model_view view;

	if (al_checkpoint_view(&view, in->session, &o->layout, in->checkpoint, config, true,
		    is_asked ? err : &reason)) {
		add_modules(in->session, &view);
		al_model_view_close(&view);
		return true;
	}
	if (!is_asked)
		al_table_warn(in->table, "attention modules could not be read: %s", reason.message);
	return !is_asked;
}

/* ---- the command ---- */

/* The table of tensors. */
static bool list_tensors(struct inspection *in, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = in->checkpoint;

	in->table = al_session_table(in->session, "tensors", fields,
		(checkpoint->n_shards > 1 ? WITH_FILES : 0) | (in->shows_values ? WITH_VALUES : 0),
		"%s", "");
	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if (!add_row(in, &checkpoint->tensors[i], err))
			return false;
	al_checkpoint_note(in->table, checkpoint, NULL);
	note_metadata(in);
	note_totals(in);
	if (checkpoint->n_unlisted)
		al_table_warn(in->table, "tensors missing from the index: %zu",
			checkpoint->n_unlisted);
	note_values(in);
	note_long_names(in);
	return true;
}

static bool is_wanted(const struct inspect_options *o, enum table table)
{
	return !o->only || (o->only >> table & 1);
}

/* "; 6 attention modules with 72 heads"; "" where none are listed. */
static const char *say_modules(struct al_session *session)
{
	const struct al_table *table = session->tables[session->n_tables - 1];
	double heads = 0, number;

	if (strcmp(table->id, "modules") != 0 || table->n_rows == 0)
		return "";
	for (size_t row = 0; row < table->n_rows; row++)
		if (al_table_number(table, row, "n_heads", &number))
			heads += number;
	return al_format(&session->arena, "; %s with %s",
		al_claim_counted(&session->arena, table->n_rows, "attention module"),
		al_claim_counted(&session->arena, (uint64_t)heads, "head"));
}

static const char *say(struct inspection *inspection)
{
	struct al_arena *arena = &inspection->session->arena;
	const struct total all = add_up(inspection->checkpoint, NULL);
	const char *size = al_claim_bytes(arena, "bytes",
		al_exact_from_int(arena, (int64_t)all.bytes));

	return al_format(arena, "%s of " AL_CLAIM_LEAD "%s in %s%s%s.",
		al_claim_counted(arena, all.tensors, "tensor"),
		al_claim_counted(arena, all.elements, "number"), size,
		say_modules(inspection->session),
		inspection->table == NULL	    ? ""
			: !inspection->shows_values ? "; values not read"
			: inspection->n_tensors
			? al_format(arena, "; %s values are NaN or infinite",
				al_claim_count(arena, "not_finite",
					inspection->n_nan + inspection->n_infinite))
			: inspection->n_unread ? "; all readable values are finite"
					       : "; all values are finite");
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct inspect_options *o = session->options;
	struct inspection inspection = {.session = session,
		.shows_values = o->shows_values,
		.names = ""};

	inspection.checkpoint = al_session_file(session, al_session_word(session, 0), err);
	if (!inspection.checkpoint
		|| (is_wanted(o, TABLE_TENSORS) && !list_tensors(&inspection, err))
		|| (is_wanted(o, TABLE_MODULES) && !list_modules(&inspection, err))
		|| !al_checkpoint_check_unchanged(inspection.checkpoint, err))
		return false;
	al_session_claim(session, say(&inspection));
	if (*say_modules(session))
		al_session_next_question(session, "audit", al_layout_groups, NULL);
	return true;
}

const struct al_command al_command_inspect = {
	.words = "CHECKPOINT [CONFIG]",
	.examples = {"inspect model.safetensors --heads 12",
		"inspect path/to/model --only tensors --values -f csv"},
	.options = groups,
	.options_size = sizeof(struct inspect_options),
	.has_formats = true,
	.run = run,
};

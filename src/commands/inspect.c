/* inspect: what a checkpoint holds. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "commands/checkpoint.h"
#include "commands/modules.h"
#include "commands/summary.h"

enum { NUMBERS_AT_ONCE = 64 * 1024, MOST_VALUE_BYTES = 120, MOST_METADATA = 20, MOST_NAMES = 3 };

enum table { TABLE_TENSORS, TABLE_MODULES, N_TABLES };

static const char *const table_names[N_TABLES] = {"tensors", "modules"};

struct inspect_options {
	struct al_output_options output;
	struct al_layout_options layout;
	bool shows_values;
	/* Both tables make an answer for people; a script asks for the one that it reads, so that
	 * what a family says of the checkpoint doesn't change the form of its answer. */
	uint64_t only;
};

static const struct al_option_row rows[] = {
	OPTION_SET(struct inspect_options, only, "only", "A,B", "only these tables",
		.words = table_names, .n_words = N_TABLES, .noun = "table"),
	OPTION_FLAG(struct inspect_options, shows_values, "values",
		"read all numbers: smallest, largest, mean, not finite"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS,
	{al_layout_rows, offsetof(struct inspect_options, layout)}, {rows, 0}, {NULL, 0}};

/* One answer. */
struct inspection {
	struct al_session *session;
	struct al_checkpoint checkpoint;
	struct al_table *table;
	bool shows_values, shows_files;
	int64_t n_not_finite, n_unread; /* numbers; tensors whose numbers can't be read */
};

/* ---- values ---- */

/* Of the finite numbers of a tensor; the others are counted. */
struct values {
	double min, max, sum;
	int64_t n_finite, n_nan, n_infinite;
};

/* Sums a block at a time: the error stays far below what is printed. */
static void add_values(struct values *values, const double *numbers, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double x = numbers[i];
		if (!isfinite(x)) {
			values->n_nan += isnan(x);
			values->n_infinite += isinf(x) != 0;
			continue;
		}
		values->min = values->n_finite == 0 || x < values->min ? x : values->min;
		values->max = values->n_finite == 0 || x > values->max ? x : values->max;
		values->n_finite++;
		sum += x;
	}
	values->sum += sum;
}

static bool read_values(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	struct values *values, struct al_error *err)
{
	double *numbers = al_alloc(NUMBERS_AT_ONCE, sizeof(*numbers));
	bool ok = true;

	for (int64_t first = 0; ok && first < tensor->n_elements; first += NUMBERS_AT_ONCE) {
		int64_t left = tensor->n_elements - first;
		struct al_selection block = {.first = first,
			.n_runs = 1,
			.run = left < NUMBERS_AT_ONCE ? left : NUMBERS_AT_ONCE};
		ok = al_tensor_read_double(checkpoint, tensor, &block, numbers, NUMBERS_AT_ONCE,
			err);
		if (ok)
			add_values(values, numbers, block.run);
	}
	free(numbers);
	return ok;
}

/* ---- rows ---- */

static const char *file_name(const struct al_checkpoint *checkpoint, size_t shard)
{
	const char *path = checkpoint->shards[shard].source.path;
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct record {
	const char *name, *dtype, *shape, *file;
	int64_t bytes;
	double min, max, mean;
	int64_t n_nan, n_infinite;
};

enum { WITH_FILES = 1, WITH_VALUES = 2 };

static const struct al_table_field fields[] = {
	{{.key = "name", .title = "Tensor", .is_key = true}, AL_MEMBER(struct record, name)},
	{{.key = "dtype", .title = "Format"}, AL_MEMBER(struct record, dtype)},
	{{.key = "shape", .title = "Shape"}, AL_MEMBER(struct record, shape)},
	{{.key = "bytes", .title = "Size", .unit = "B", .quantity = AL_QUANTITY_BYTES},
		AL_MEMBER(struct record, bytes)},
	{{.key = "file", .title = "File"}, AL_MEMBER(struct record, file), .when = WITH_FILES},
	{{.key = "min", .title = "Smallest", .digits = AL_DIGITS_ALL},
		AL_MEMBER(struct record, min), .when = WITH_VALUES},
	{{.key = "max", .title = "Largest", .digits = AL_DIGITS_ALL}, AL_MEMBER(struct record, max),
		.when = WITH_VALUES},
	{{.key = "mean", .title = "Mean", .digits = AL_DIGITS_ALL}, AL_MEMBER(struct record, mean),
		.when = WITH_VALUES},
	{{.key = "nan", .title = "NaN"}, AL_MEMBER(struct record, n_nan), .when = WITH_VALUES},
	{{.key = "inf", .title = "Infinite"}, AL_MEMBER(struct record, n_infinite),
		.when = WITH_VALUES},
	AL_FIELDS_END,
};

static void set_values(struct record *record, const struct values *values)
{
	record->n_nan = values->n_nan;
	record->n_infinite = values->n_infinite;
	if (!values->n_finite)
		return;
	record->min = values->min;
	record->max = values->max;
	record->mean = values->sum / (double)values->n_finite;
}

static bool add_row(struct inspection *inspection, const struct al_tensor *tensor,
	struct values *values, struct al_error *err)
{
	struct record record = {tensor->name, al_dtype_title(tensor->dtype),
		al_shape_text(&inspection->session->arena, tensor->shape, tensor->n_dims),
		file_name(&inspection->checkpoint, tensor->shard), (int64_t)tensor->bytes, NAN, NAN,
		NAN, INT64_MIN, INT64_MIN};

	if (inspection->shows_values && tensor->dtype->to_double) {
		if (!read_values(&inspection->checkpoint, tensor, values, err))
			return false;
		set_values(&record, values);
	}
	al_table_add_record(inspection->table, &record);
	return true;
}

/* ---- notes ---- */

/* Shards often say the same. */
static bool is_said(const struct al_checkpoint *checkpoint, size_t i)
{
	const struct al_metadata *m = checkpoint->metadata;

	for (size_t before = 0; before < i; before++)
		if (strcmp(m[before].key, m[i].key) == 0
			&& strcmp(m[before].value, m[i].value) == 0)
			return true;
	return false;
}

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

static void note_metadata(struct inspection *inspection)
{
	const struct al_checkpoint *checkpoint = &inspection->checkpoint;
	size_t n_said = 0;

	for (size_t i = 0; i < checkpoint->n_metadata; i++) {
		if (is_said(checkpoint, i))
			continue;
		if (n_said++ == MOST_METADATA) {
			al_table_note(inspection->table, "metadata: ... (%zu in all)",
				checkpoint->n_metadata);
			return;
		}
		note_one(inspection->table, &checkpoint->metadata[i]);
	}
}

struct total {
	uint64_t tensors, elements, bytes;
};

/* Of the tensors of one dtype; NULL: all. */
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
	struct total total = add_up(&inspection->checkpoint, NULL);

	note_total(inspection->table, "all", &total);
	for (size_t d = 0; al_dtype_at(d); d++) {
		total = add_up(&inspection->checkpoint, al_dtype_at(d));
		if (total.tensors)
			note_total(inspection->table, al_dtype_title(al_dtype_at(d)), &total);
	}
}

/* Tensors with numbers that aren't finite, the first by name. */
struct findings {
	struct al_text names;
	size_t n_tensors, n_unread;
	int64_t n_nan, n_infinite;
};

static void find(struct findings *findings, const struct al_tensor *tensor,
	const struct values *values)
{
	findings->n_unread += !tensor->dtype->to_double;
	if (values->n_nan == 0 && values->n_infinite == 0)
		return;
	findings->n_nan += values->n_nan;
	findings->n_infinite += values->n_infinite;
	if (findings->n_tensors++ < MOST_NAMES)
		al_text_addf(&findings->names, "%s%s", findings->n_tensors > 1 ? ", " : "",
			tensor->name);
}

static void note_findings(struct inspection *inspection, const struct findings *findings)
{
	if (!inspection->shows_values) {
		al_note_numbers_unread(inspection->table);
		return;
	}
	if (findings->n_tensors == 0)
		al_table_note(inspection->table, "values: all finite");
	else
		al_table_note(inspection->table,
			"values: %" PRId64 " NaN and %" PRId64 " infinite in %s: %s%s",
			findings->n_nan, findings->n_infinite,
			al_count_text(&inspection->table->arena, findings->n_tensors, "tensor"),
			findings->names.data, findings->n_tensors > MOST_NAMES ? ", ..." : "");
	if (findings->n_unread)
		al_table_note(inspection->table, "tensors whose numbers can't be converted: %zu",
			findings->n_unread);
}

/* ---- the command ---- */

static bool add_rows(struct inspection *inspection, struct findings *findings, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = &inspection->checkpoint;

	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		struct values values = {0};
		if (!add_row(inspection, &checkpoint->tensors[i], &values, err))
			return false;
		find(findings, &checkpoint->tensors[i], &values);
	}
	return true;
}

static void add_notes(struct inspection *inspection, const struct findings *findings)
{
	al_checkpoint_note(inspection->table, &inspection->checkpoint);
	note_metadata(inspection);
	note_totals(inspection);
	if (inspection->checkpoint.n_unlisted)
		al_table_note(inspection->table, "tensors that the index doesn't name: %zu",
			inspection->checkpoint.n_unlisted);
	note_findings(inspection, findings);
}

/* The table of tensors. */
static bool list_tensors(struct inspection *inspection, struct al_error *err)
{
	struct findings findings = {0};

	inspection->table = al_session_table(inspection->session, "inspect", "");
	al_table_add_fields(inspection->table, fields,
		(inspection->shows_files ? WITH_FILES : 0)
			| (inspection->shows_values ? WITH_VALUES : 0));
	al_text_init(&findings.names);
	bool ok = add_rows(inspection, &findings, err);
	if (ok)
		add_notes(inspection, &findings);
	inspection->n_not_finite = findings.n_nan + findings.n_infinite;
	inspection->n_unread = (int64_t)findings.n_unread;
	al_text_finish(&findings.names);
	return ok;
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
		al_count_text(&session->arena, table->n_rows, "attention module"),
		al_count_text(&session->arena, (uint64_t)heads, "head"));
}

static const char *say(struct inspection *inspection)
{
	struct al_arena *arena = &inspection->session->arena;
	const struct total all = add_up(&inspection->checkpoint, NULL);
	mpq_t bytes;

	mpq_init(bytes);
	mpq_set_ui(bytes, all.bytes, 1);
	const char *size = al_text_of_bytes(arena, bytes);
	mpq_clear(bytes);
	return al_format(arena, "%s of %s in %s%s%s.", al_count_text(arena, all.tensors, "tensor"),
		al_count_text(arena, all.elements, "number"), size,
		say_modules(inspection->session),
		inspection->table == NULL	    ? ""
			: !inspection->shows_values ? "; none of the numbers was read"
			: inspection->n_not_finite
			? al_format(arena, "; %lld of them are NaN or infinite",
				(long long)inspection->n_not_finite)
			: inspection->n_unread ? "; all that can be read are finite"
					       : "; all of them are finite");
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct inspect_options *o = session->options;
	struct inspection inspection = {.session = session, .shows_values = o->shows_values};

	if (!al_checkpoint_open(&inspection.checkpoint, al_session_word(session, 0), err))
		return false;
	inspection.shows_files = inspection.checkpoint.n_shards > 1;
	bool ok = (!is_wanted(o, TABLE_TENSORS) || list_tensors(&inspection, err))
		&& (!is_wanted(o, TABLE_MODULES)
			|| al_modules_list(session, &o->layout, &inspection.checkpoint,
				o->only ? NULL : inspection.table, err))
		&& al_checkpoint_check_unchanged(&inspection.checkpoint, err);
	if (ok)
		session->style.summary = say(&inspection);
	al_checkpoint_close(&inspection.checkpoint);
	return ok;
}

const struct al_command al_command_inspect = {
	.words = "CHECKPOINT [CONFIG]",
	.examples = {"inspect model.safetensors --heads 12",
		"inspect path/to/model --only tensors --values -f csv"},
	.options = groups,
	.options_size = sizeof(struct inspect_options),
	.least_words = 1,
	.most_words = 2,
	.reads_weights = true,
	.run = run,
};

/* reconcile: what a family expects of a checkpoint against what is stored. */
#include "commands/checkpoint.h"
#include "commands/summary.h"
#include "model/heads/reconcile.h"

#include <string.h>

struct reconcile_options {
	struct al_output_options output;
	struct al_layout_options layout;
	bool shows_all;
};

static const struct al_option_row rows[] = {
	OPTION_FLAG(struct reconcile_options, shows_all, "tensors", "a row for each tensor"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {rows, 0},
	{al_layout_rows, offsetof(struct reconcile_options, layout)}, {NULL, 0}};

static void set_shape(struct al_table *table, struct al_cell *cell, const int64_t *dims, size_t n)
{
	al_cell_set_text(table, cell, al_shape_text(&table->arena, dims, n));
}

static void add_entry(struct al_table *table, const struct al_reconciled *entry)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, entry->name);
	if (entry->part)
		al_cell_set_text(table, cell, entry->part);
	cell++;
	if (entry->expected)
		set_shape(table, cell, entry->expected, entry->n_expected);
	cell++;
	if (entry->found)
		set_shape(table, cell, entry->found->shape, entry->found->n_dims);
	cell++;
	al_cell_set_text(table, cell++, al_difference_names[entry->difference]);
	if (!entry->found)
		return;
	al_cell_set_int(table, cell++, entry->n_found_parameters);
	al_cell_set_int(table, cell, (int64_t)entry->found->bytes);
}

static void add_columns(struct al_table *table)
{
	al_table_add_column(table,
		(struct al_column){.key = "name", .title = "Tensor", .is_key = true});
	al_table_add_column(table, (struct al_column){.key = "part", .title = "Part"});
	al_table_add_column(table, (struct al_column){.key = "expected", .title = "Expected"});
	al_table_add_column(table, (struct al_column){.key = "found", .title = "Found"});
	al_table_add_column(table, (struct al_column){.key = "difference", .title = "Difference"});
	al_table_add_column(table,
		(struct al_column){.key = "parameters",
			.title = "Parameters",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL});
	al_table_add_column(table,
		(struct al_column){.key = "bytes",
			.title = "Stored",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL});
}

/* Of one part, of what is unexpected, or of all. */
struct sum {
	const char *part;
	int64_t expected_tensors, found_tensors, expected_parameters, found_parameters, bytes;
};

static bool add_to(int64_t *sum, int64_t n)
{
	return !__builtin_add_overflow(*sum, n, sum);
}

static bool add_entry_to(struct sum *sum, const struct al_reconciled *entry)
{
	sum->expected_tensors += entry->expected != NULL;
	sum->found_tensors += entry->found != NULL;
	return add_to(&sum->expected_parameters, entry->n_expected_parameters)
		&& add_to(&sum->found_parameters, entry->n_found_parameters)
		&& (!entry->found || add_to(&sum->bytes, (int64_t)entry->found->bytes));
}

static struct sum *find_sum(struct sum *sums, size_t *n, const char *part)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp(sums[i].part, part) == 0)
			return &sums[i];
	sums[*n] = (struct sum){.part = part};
	return &sums[(*n)++];
}

static void add_sum(struct al_table *table, const struct sum *sum)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, sum->part);
	al_cell_set_int(table, cell++, sum->expected_tensors);
	al_cell_set_int(table, cell++, sum->found_tensors);
	al_cell_set_int(table, cell++, sum->expected_parameters);
	al_cell_set_int(table, cell++, sum->found_parameters);
	al_cell_set_int(table, cell, sum->bytes);
}

static void add_sum_columns(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "part", .title = "Part", .is_key = true},
		{.key = "expected_tensors",
			.title = "Tensors expected",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "found_tensors",
			.title = "Found",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "expected_parameters",
			.title = "Parameters expected",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "found_parameters",
			.title = "Found",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "bytes",
			.title = "Stored",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
	};

	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

/* Parts in the order in which they come, then all. */
static bool add_sums(struct al_session *session, const struct al_reconciled *entries, size_t n,
	struct al_error *err)
{
	struct al_table *table = al_session_table(session, "parts",
		"What is expected and what is stored");
	struct sum *sums = al_new_array(&session->arena, struct sum,
		AL_N_PARTS + AL_FAMILY_EXTRAS + 2);
	struct sum all = {.part = "all"};
	size_t n_sums = 0;

	add_sum_columns(table);
	for (size_t i = 0; i < n; i++) {
		const char *part = entries[i].part ? entries[i].part : "unexpected";
		if (!add_entry_to(find_sum(sums, &n_sums, part), &entries[i])
			|| !add_entry_to(&all, &entries[i]))
			return al_fail(err, AL_EINPUT, "more than 2^63 numbers are expected");
	}
	for (size_t i = 0; i < n_sums; i++)
		add_sum(table, &sums[i]);
	add_sum(table, &all);
	al_table_mark_total(table);
	return true;
}

/* What agrees is said in a note, unless all is asked for. */
static void fill(struct al_session *session, struct al_table *table,
	const struct al_reconciled *entries, size_t n)
{
	const struct reconcile_options *o = session->options;
	uint64_t counts[AL_N_DIFFERENCES] = {0};

	add_columns(table);
	for (size_t i = 0; i < n; i++) {
		counts[entries[i].difference]++;
		if (entries[i].difference != AL_DIFFERENCE_NONE || o->shows_all)
			add_entry(table, &entries[i]);
		if (al_difference_is_fault(entries[i].difference))
			session->answer_is_no = true;
	}
	for (int i = 0; i < AL_N_DIFFERENCES; i++)
		if (counts[i])
			al_table_note(table, "%s: %s",
				i == AL_DIFFERENCE_NONE ? "as expected" : al_difference_names[i],
				al_count_text(&table->arena, counts[i], "tensor"));
}

/* "1 missing, 2 unexpected" of the faults, or of what is no fault. */
static const char *list_differences(struct al_arena *arena, const struct al_reconciled *entries,
	size_t n, bool of_faults)
{
	uint64_t counts[AL_N_DIFFERENCES] = {0};
	const char *text = "";

	for (size_t i = 0; i < n; i++)
		counts[entries[i].difference]++;
	for (int i = AL_DIFFERENCE_NONE + 1; i < AL_N_DIFFERENCES; i++)
		if (counts[i] && al_difference_is_fault((enum al_difference)i) == of_faults)
			text = al_format(arena, "%s%s%llu %s", text, *text ? ", " : "",
				(unsigned long long)counts[i], al_difference_names[i]);
	return text;
}

/* The last row of the parts is their sum. */
static const char *say(struct al_session *session, const struct al_reconciled *entries, size_t n,
	const char *family)
{
	struct al_arena *arena = &session->arena;
	const struct al_table *parts = session->tables[session->n_tables - 1];
	const size_t all = parts->n_rows - 1;
	const char *faults = list_differences(arena, entries, n, true);
	const char *others = list_differences(arena, entries, n, false);
	const char *found = al_text_of_cell(arena, parts, all, "found_parameters");

	if (*faults)
		return al_format(arena,
			"The checkpoint is not what family %s expects: %s; %s parameters expected, "
			"%s found.",
			family, faults, al_text_of_cell(arena, parts, all, "expected_parameters"),
			found);
	return al_format(arena,
		"Family %s explains all %s tensors%s%s%s: %s parameters, by names and shapes; no "
		"numbers were read.",
		family, al_text_of_cell(arena, parts, all, "found_tensors"), *others ? " (" : "",
		others, *others ? ")" : "", found);
}

static bool run(struct al_session *session, struct al_error *err)
{
	struct al_reconciled *entries;
	struct al_opened_checkpoint opened;
	size_t n;

	const struct reconcile_options *o = session->options;

	if (!al_opened_checkpoint_init(&opened, session, &o->layout, al_session_word(session, 0),
		    al_session_word(session, 1), false, err))
		return false;
	bool ok = al_reconcile(&opened.view, &entries, &n, err);
	if (ok) {
		struct al_table *table = al_session_table(session, "reconcile",
			al_format(&session->arena, "%s against family %s", opened.checkpoint.path,
				opened.view.family->name));
		fill(session, table, entries, n);
		al_opened_checkpoint_note(&opened, table);
		al_note_numbers_unread(table);
		ok = add_sums(session, entries, n, err);
		if (ok)
			session->style.summary = say(session, entries, n, opened.view.family->name);
	}
	al_opened_checkpoint_finish(&opened);
	return ok;
}

const struct al_command al_command_reconcile = {
	.words = "CHECKPOINT [CONFIG]",
	.examples = {"reconcile model.safetensors config.json",
		"reconcile model/ --tensors -f csv"},
	.options = groups,
	.options_size = sizeof(struct reconcile_options),
	.least_words = 1,
	.most_words = 2,
	.reads_weights = true,
	.run = run,
};
